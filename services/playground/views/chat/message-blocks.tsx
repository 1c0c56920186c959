import type { Block } from '@agent-workflow/client';
import { Fold } from '../../ui/fold.tsx';
import { digest } from '../../ui/json-start.ts';
import { FoldedJson } from '../../ui/json-tree/folded-json.tsx';
import { JsonTree } from '../../ui/json-tree/json-tree.tsx';
import { Markdown } from '../../ui/markdown/markdown.tsx';
import { Plain } from '../../ui/plain.tsx';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { textAt } from './blocks.ts';
import type { CallCosts } from './call-costs.ts';
import type { Conversation, Entry } from './conversation.ts';
import { mediaOf } from './media.ts';
import { Media } from './media-block.tsx';
import { ToolResult, ToolUse } from './tool-use.tsx';

interface BlocksProps {
  readonly entry: Entry;
  readonly conversation: Conversation;
  readonly costs: CallCosts;
}

/** The content of a message, each block in its form. */
export function Blocks({ entry, conversation, costs }: BlocksProps) {
  const { blocks, state } = entry;
  const isGrowing = state === 'streaming';
  return (
    <>
      {blocks.map((block, index) => (
        <RawOnFault key={index} raw={block}>
          <OneBlock {...{ block, entry, conversation, costs }} isGrowing={isGrowing && index === blocks.length - 1} />
        </RawOnFault>
      ))}
    </>
  );
}

interface OneBlockProps extends BlocksProps {
  readonly block: Block;
  readonly isGrowing: boolean;
}

function OneBlock({ block, entry, isGrowing, conversation, costs }: OneBlockProps) {
  switch (block.type) {
    case 'text':
      if (entry.role === 'assistant') return <Markdown text={textAt(block, 'text')} isGrowing={isGrowing} />;
      return <Plain text={textAt(block, 'text')} />;
    case 'reasoning':
      return <Reasoning block={block} isGrowing={isGrowing} />;
    case 'tool_call':
    case 'remote_tool_call':
      return <ToolUse {...{ block, entry, conversation, costs, isGrowing }} revision={entry.revision} />;
    case 'tool_result':
      return <ToolResult block={block} />;
    case 'error':
      return (
        <div class="note note-error">
          <Plain text={textAt(block, 'message')} />
        </div>
      );
    case 'image':
    case 'audio':
    case 'video':
    case 'document':
      return <Media block={block} />;
    default:
      return mediaOf(block, location.origin) ? (
        <Media block={block} />
      ) : (
        <FoldedJson label={digest(block.type)} value={block} />
      );
  }
}

/** What a model thought, folded. */
function Reasoning({ block, isGrowing }: { readonly block: Block; readonly isGrowing: boolean }) {
  const text = textAt(block, 'text') || textAt(block, 'summary');
  // A provider that seals its reasoning gives no text of it.
  if (text === '' && block['details'] === undefined) return null;
  return (
    <Fold
      class="reasoning"
      summary={
        <>
          <span>Reasoning</span>
          {isGrowing && <span class="hint">thinking …</span>}
        </>
      }
    >
      {text !== '' && <Plain text={text} />}
      {block['details'] !== undefined && <JsonTree label="Details of the reasoning" value={block['details']} />}
    </Fold>
  );
}
