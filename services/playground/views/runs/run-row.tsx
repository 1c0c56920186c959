import type { Run } from '@agent-workflow/client';
import { toHash } from '../../session/route.ts';
import { counted, dayTime, duration, grouped } from '../../ui/format.ts';
import { factsOf } from './listed-runs.ts';
import { isUnderWay, Status } from './status.tsx';

interface RunRowProps {
  readonly run: Run;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Whether runs are of several agents. */
  readonly showsAgent: boolean;
  readonly onStop: () => void;
}

/** A run in the list of runs. */
export function RunRow({ run, now, showsAgent, onStop }: RunRowProps) {
  const { createdAt, updatedAt } = factsOf(run);
  const isOpen = isUnderWay(run.status);
  return (
    <tr>
      <td>
        <Status status={run.status} />
        <Reason run={run} now={now} />
      </td>
      <td>
        <a class="id" href={toHash({ view: 'runs', id: run.run_id })}>
          {run.run_id}
        </a>
      </td>
      <td>
        <a class="id" href={toHash({ view: 'threads', id: run.thread_id })}>
          {run.thread_id}
        </a>
      </td>
      {showsAgent && <td class="runs-agent">{run.agent}</td>}
      <td class="nowrap runs-accepted">{dayTime(createdAt, now)}</td>
      <td class="nowrap runs-wide">{duration((isOpen ? now : updatedAt) - createdAt)}</td>
      <td class="nowrap runs-wide" title={tokensTitle(run)}>
        {run.usage ? grouped(run.usage.input_tokens + run.usage.output_tokens) : ''}
      </td>
      <td>
        {isOpen && (
          <button type="button" class="small" aria-label={`Stop run ${run.run_id}`} onClick={onStop}>
            Stop
          </button>
        )}
      </td>
    </tr>
  );
}

/** Why a run failed, or when it continues. */
function Reason({ run, now }: { readonly run: Run; readonly now: number }) {
  const { error } = factsOf(run);
  if (error) return <p class="reason">{error.message}</p>;
  if (run.wake_at !== undefined) return <p class="reason">until {dayTime(Date.parse(run.wake_at), now)}</p>;
  return null;
}

function tokensTitle({ usage }: Run): string {
  return usage ? `${counted(usage.input_tokens, 'token')} in, ${grouped(usage.output_tokens)} out` : '';
}
