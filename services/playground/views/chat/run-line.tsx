import type { Share } from '@agent-workflow/client';
import { toHash } from '../../session/route.ts';
import { timeText } from '../../ui/time-text.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { counted, duration, grouped } from '../../ui/format.ts';
import { Fold } from '../../ui/fold.tsx';
import { JsonTree } from '../../ui/json-tree/json-tree.tsx';
import { toneOf } from '../../ui/patterns/status-dot.tsx';
import { areForOthers } from '../../session/for-others.ts';
import { Plain } from '../../ui/plain.tsx';
import type { Chat } from './chat.ts';
import { FailedRun, RunFailure } from './run-failure.tsx';
import { Retry } from './retry.tsx';
import type { RunState } from './run-state.ts';

/** The id of the element that says how the run stands. */
export const runStatusId = 'run-status';

interface RunLineProps {
  readonly chat: Chat;
  /** Raised when the run has changed. */
  readonly drawn: number;
}

/** How the newest run stands, in one quiet line; and why it failed, where it did. */
export function RunLine({ chat }: RunLineProps) {
  const { run } = chat.conversation;
  const failure = chat.runs.failure.value;
  const isOfOther = chat.source.share !== undefined;
  const mayRetry = run !== undefined && chat.runs.followed.value === undefined;
  return (
    <div class="run-now">
      {mayRetry &&
        run.error &&
        (isOfOther ? <FailedRun error={run.error} /> : <RunFailure {...{ chat, run }} error={run.error} />)}
      <p class="run-line">
        <span role="status" id={runStatusId} tabIndex={-1} class={`status-dot tone-${toneOf(run?.status ?? '')}`}>
          {run && <span class={`dot dot-${toneOf(run.status)}`} />}
          {run && statusText(run, chat.source.share)}
        </span>
        {run && <Facts run={run} isOfOther={isOfOther} />}
        {mayRetry && run.status === 'stopped' && !isOfOther && (
          <Retry {...{ chat }} runId={run.runId} isFailed={false} />
        )}
      </p>
      <p class="run-line" role="status">
        {connectionText(chat)}
      </p>
      {run?.isLimitReached && <p class="note">The recursion limit was reached: the run ended where it was.</p>}
      {failure !== undefined && chat.thread.missing.value === undefined && (
        <ErrorNote error={failure} again={() => void chat.again()} />
      )}
      <Waiting chat={chat} />
      {run?.state && (
        <Fold summary="State of the run">
          <JsonTree label="State of the run" value={run.state} />
        </Fold>
      )}
      {run?.summary !== undefined && run.summary !== '' && (
        <Fold summary="Summary of what left the context">
          <Plain text={run.summary} />
        </Fold>
      )}
    </div>
  );
}

function Facts({
  run: { runId, usage, restarts, startedAt, endedAt },
  isOfOther,
}: {
  readonly run: RunState;
  readonly isOfOther: boolean;
}) {
  const ms = Date.parse(endedAt ?? '') - Date.parse(startedAt ?? '');
  return (
    <>
      {ms >= 0 && <span>{duration(ms)}</span>}
      {usage && <span>{`${counted(usage.input_tokens, 'token')} in, ${grouped(usage.output_tokens)} out`}</span>}
      {restarts > 0 && <span>{counted(restarts, 'step')} ran again</span>}
      {!isOfOther && (
        <a href={toHash({ view: 'runs', id: runId })} title={runId}>
          Open the run
        </a>
      )}
    </>
  );
}

const words: Readonly<Record<RunState['status'], string>> = {
  scheduled: 'Scheduled',
  queued: 'Queued: waits for its thread or for a worker',
  running: 'Running',
  sleeping: 'Sleeping',
  interrupted: 'Waits for you',
  completed: 'Completed',
  failed: 'Failed',
  stopped: 'Stopped',
};

function statusText({ status, wakeAt, interrupts = [] }: RunState, share: Share | undefined): string {
  if (status === 'interrupted' && areForOthers(interrupts)) return 'Waits for others';
  if (status === 'interrupted' && share && !share.rights.includes('answer'))
    return `Waits for an answer of ${share.user_id}, or of others`;
  return status === 'sleeping' && wakeAt !== undefined ? `Sleeping until ${timeText(wakeAt)}` : words[status];
}

function connectionText({ runs: { connection } }: Chat): string {
  if (connection.value === 'lost') return 'The connection to the run was cut. Connecting again …';
  if (connection.value === 'resumed') return 'The connection was cut and has resumed where it was: nothing is missing.';
  return '';
}

function Waiting({ chat: { runs } }: { readonly chat: Chat }) {
  const { waiting, waitingElsewhere } = runs;
  const messages = waiting.value.flatMap((run) => run.messages);
  const others = waitingElsewhere.value;
  if (messages.length === 0 && others === 0) return null;
  return (
    <ul class="waiting" aria-label="Messages that wait for their run">
      {messages.map(({ message_id: id, content }) => (
        <li key={id} dir="auto">
          {typeof content === 'string' ? content.slice(0, 300) : 'Results of tools'}
        </li>
      ))}
      {others > 0 && <li>{others === 1 ? '1 message waits' : `${String(others)} messages wait`}</li>}
    </ul>
  );
}
