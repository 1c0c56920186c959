import type { Block, Message } from '@agent-workflow/client';
import { useState } from 'preact/hooks';
import { counted } from '../../../ui/format.ts';
import { JsonTree } from '../../../ui/json-tree/json-tree.tsx';
import { Plain } from '../../../ui/plain.tsx';
import { RawOnFault } from '../../../ui/patterns/raw-on-fault.tsx';

/** So many of the newest are drawn at first, and so many more each time. */
const page = 20;

/** Messages as they were sent to a model or given by a node, the oldest first. */
export function SentMessages({ messages }: { readonly messages: readonly Message[] }) {
  const [shown, setShown] = useState(page);
  const hidden = Math.max(0, messages.length - shown);
  return (
    <>
      {hidden > 0 && (
        <button type="button" class="button-quiet" onClick={() => setShown(shown + page)}>
          Show {counted(Math.min(page, hidden), 'earlier message')} of {hidden}
        </button>
      )}
      <ol class="sent">
        {messages.slice(hidden).map((message, at) => (
          <li key={`${message.message_id} ${String(at)}`}>
            <RawOnFault raw={message}>
              <p class="sent-role">{message.role}</p>
              {message.content.map((block, index) => (
                <SentBlock key={index} block={block} />
              ))}
            </RawOnFault>
          </li>
        ))}
      </ol>
    </>
  );
}

function SentBlock({ block }: { readonly block: Block }) {
  const text = block.type === 'text' || block.type === 'reasoning' ? block['text'] : undefined;
  if (typeof text === 'string') return <Plain text={text} />;
  return <JsonTree label={block.type} value={block} />;
}
