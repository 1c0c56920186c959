import type { Block } from '@agent-workflow/client';
import { Fold } from '../../ui/fold.tsx';
import { duration } from '../../ui/format.ts';
import { Icon } from '../../ui/icon.tsx';
import { digest } from '../../ui/json-start.ts';
import { JsonTree } from '../../ui/json-tree/json-tree.tsx';
import type { Conversation } from './conversation.ts';
import { toolUseOf, type ToolUse as Use } from './tool-uses.ts';

interface ToolUseProps {
  readonly block: Block;
  readonly conversation: Conversation;
  /** Whether the message that calls is still being written. */
  readonly isGrowing: boolean;
}

/** A call of a tool and what it gave, in one quiet line that opens to both. */
export function ToolUse({ block, conversation, isGrowing }: ToolUseProps) {
  const use = toolUseOf(conversation, block);
  return <ToolLine {...{ use }} isRunning={isGrowing || (use.result === undefined && isUnderWay(conversation))} />;
}

/** The result of a tool whose call is not on the page. */
export function ToolResult({ block }: { readonly block: Block }) {
  const use = { name: 'a tool', result: { output: block['output'], isError: block['is_error'] === true } };
  return <ToolLine use={use} isRunning={false} />;
}

const isUnderWay = ({ run }: Conversation): boolean => run?.status === 'running' || run?.status === 'sleeping';

interface ToolLineProps {
  readonly use: Use;
  readonly isRunning: boolean;
}

function ToolLine({ use: { name, args, result, ms, isRemote = false }, isRunning }: ToolLineProps) {
  const shown = digest(name);
  const isBad = result?.isError === true;
  return (
    <Fold
      class="tool"
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
