import type { Block } from '@agent-workflow/client';
import { Fold } from '../../ui/fold.tsx';
import { counted, duration } from '../../ui/format.ts';
import { Icon } from '../../ui/icon.tsx';
import { digest } from '../../ui/json-start.ts';
import { JsonTree } from '../../ui/json-tree/json-tree.tsx';
import type { CallCost } from './call-cost.ts';
import type { CallCosts } from './call-costs.ts';
import type { Conversation, Entry } from './conversation.ts';
import { textAt } from './blocks.ts';
import { toolUseOf, type ToolUse as Use } from './tool-uses.ts';

interface ToolUseProps {
  readonly block: Block;
  /** The message that calls. */
  readonly entry: Entry;
  /** Draws it anew: a result changes the entry in place, and what reads a signal is drawn when its properties change alone. */
  readonly revision: number;
  readonly costs: CallCosts;
  readonly conversation: Conversation;
  /** Whether the message that calls is still being written. */
  readonly isGrowing: boolean;
}

/** A call of a tool and what it gave, in one quiet line that opens to both. */
export function ToolUse({ block, entry, costs, conversation, isGrowing }: ToolUseProps) {
  const use = toolUseOf(conversation, block);
  return (
    <ToolLine
      use={use}
      cost={costs.known.value.get(textAt(block, 'id'))}
      isRunning={isGrowing || (use.result === undefined && isUnderWay(conversation))}
      onOpen={() => costs.read(entry)}
    />
  );
}

/** The result of a tool whose call is not on the page. */
export function ToolResult({ block }: { readonly block: Block }) {
  const use = { name: 'a tool', result: { output: block['output'], isError: block['is_error'] === true } };
  return <ToolLine use={use} isRunning={false} />;
}

const isUnderWay = ({ run }: Conversation): boolean => run?.status === 'running' || run?.status === 'sleeping';

interface ToolLineProps {
  readonly use: Use;
  /** What the trace of the run says of it, once it is read. */
  readonly cost?: CallCost | undefined;
  readonly isRunning: boolean;
  readonly onOpen?: () => void;
}

function ToolLine({ use, cost, isRunning, onOpen }: ToolLineProps) {
  const { name, args, result, isRemote = false } = use;
  const ms = isRemote ? undefined : (cost?.ms ?? use.ms);
  const shown = digest(name);
  const isBad = result?.isError === true;
  return (
    <Fold
      class="tool"
      onOpen={onOpen}
      summary={
        <>
          <Icon name="tool" />
          <span class="unseen">
            {isBad ? 'Failed tool call ' : isRemote ? 'Call of a tool of the caller ' : 'Tool call '}
          </span>
          <code>{shown}</code>
          <span class="digest">{args !== undefined && !isEmpty(args) && digest(args)}</span>
          <span class="tool-facts">
            {isBad && <span class="tone-failed">failed</span>}
            {result === undefined && isRunning && <span class="tone-running">running</span>}
            {cost !== undefined && cost.tokens > 0 && <span>{counted(cost.tokens, 'token')}</span>}
            {ms !== undefined && <span>{duration(ms)}</span>}
          </span>
        </>
      }
    >
      <div class="tool-body">
        {args !== undefined && (
          <>
            <p class="tool-part">Arguments</p>
            <JsonTree label={`Arguments of ${shown}`} value={args} />
          </>
        )}
        {result !== undefined && (
          <>
            <p class="tool-part">{isBad ? 'Error' : 'Result'}</p>
            <JsonTree label={`Result of ${shown}`} value={result.output} />
          </>
        )}
        {result === undefined && !isRunning && <p class="hint">It has no result.</p>}
      </div>
    </Fold>
  );
}

const isEmpty = (args: unknown): boolean => typeof args === 'object' && args !== null && Object.keys(args).length === 0;
