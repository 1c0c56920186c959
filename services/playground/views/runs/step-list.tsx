import { VirtualList } from '../../ui/virtual-list.tsx';
import { clockTime, counted, duration } from './format.ts';
import type { Attempt, RunLog, Visit } from './log/run-log.ts';
import type { RunRecord } from './recorded-run.ts';
import { ErrorNote } from '../../ui/error-note.tsx';

const rowHeight = 40;

interface StepListProps {
  readonly log: RunLog;
  /** Milliseconds since 1970, by the service's clock. */
  readonly now: number;
  readonly record: RunRecord;
  readonly onShow: (visit: Visit) => void;
}

/** The steps of a run on one axis of time: which node ran, how long, and what ran again. */
export function StepList({ log, now, record, onShow }: StepListProps) {
  const axis = axisOf(log, now, record);
  return (
    <>
      <p class="step-axis" aria-hidden="true">
        <span>0</span>
        <span>{duration(axis.end - axis.start)}</span>
      </p>
      {record.error !== undefined && <ErrorNote error={record.error} />}
      {log.visits.length === 0 && <p class="hint">No step has begun.</p>}
      <VirtualList
        label="Steps"
        items={log.visits}
        keyOf={({ step, node }) => `${String(step)} ${node}`}
        estimate={rowHeight}
        followsEnd={log.last === undefined}
        render={(visit) => <StepRow visit={visit} axis={axis} record={record} now={now} onShow={onShow} />}
      />
    </>
  );
}

/** What the width of the list stands for, in milliseconds since 1970. */
interface Axis {
  readonly start: number;
  readonly end: number;
}

function axisOf(log: RunLog, now: number, { steps }: RunRecord): Axis {
  const begun = steps.get(0)?.startedAt;
  const start = Math.min(log.events[0]?.at ?? now, begun ?? Infinity);
  const end = log.last ? (log.events.at(-1)?.at ?? now) : now;
  return { start, end: Math.max(end, start + 1) };
}

interface StepRowProps extends Pick<StepListProps, 'now' | 'record' | 'onShow'> {
  readonly visit: Visit;
  readonly axis: Axis;
}

function StepRow({ visit, axis, record, now, onShow }: StepRowProps) {
  const recorded = record.steps.get(visit.step);
  const startedAt = recorded?.startedAt ?? visit.startedAt;
  const endedAt = visit.endedAt ?? (visit.state === 'sleeping' ? now : undefined);
  const until = recorded?.endedAt ?? endedAt ?? now;
  const percent = (at: number): number => (100 * (at - axis.start)) / (axis.end - axis.start);
  const left = clamp(percent(startedAt));
  const width = Math.max(0.4, clamp(percent(until)) - left);
  const notes = notesOf(visit);
  return (
    <button type="button" class={`step step-${visit.state}`} onClick={() => onShow(visit)}>
      <span class="step-number">
        <span class="unseen">Step </span>
        {visit.step + 1}
      </span>
      <span class="step-node">{visit.node}</span>
      <span class="step-track">
        <span class="step-bar" style={{ left: `${String(left)}%`, width: `${String(Math.min(width, 100 - left))}%` }} />
        {visit.attempts.slice(1).map(({ at, cause }) => (
          <span key={at} class={`step-mark step-mark-${cause}`} style={{ left: `${String(clamp(percent(at)))}%` }} />
        ))}
      </span>
      <span class="step-took">{hasDuration(visit, record) ? duration(until - startedAt) : clockTime(until)}</span>
      <span class="step-state">{stateText(visit)}</span>
      {notes !== '' && <span class="step-notes">{notes}</span>}
    </button>
  );
}

const clamp = (percent: number): number => Math.min(100, Math.max(0, percent));

/** A log that was made again says when a step was committed, not when it began. */
const hasDuration = ({ startedAt, endedAt, step }: Visit, { steps }: RunRecord): boolean =>
  steps.size === 0 || steps.get(step)?.startedAt !== undefined || startedAt !== endedAt;

function stateText({ state, wakeAt }: Visit): string {
  if (state === 'sleeping') return wakeAt === undefined ? 'sleeps' : `sleeps until ${clockTime(wakeAt)}`;
  return state === 'interrupted' ? 'waits for an answer' : state;
}

function notesOf({ attempts, messages }: Visit): string {
  const count = (cause: Attempt['cause']): number => attempts.filter((each) => each.cause === cause).length;
  const [failures, takeovers] = [count('failure'), count('takeover')];
  return [
    ...(failures > 0 ? [`${counted(failures, 'retry').replace('retrys', 'retries')} after a failure`] : []),
    ...(takeovers > 0 ? [`restarted ${times(takeovers)} after its worker was lost`] : []),
    ...(messages > 0 ? [counted(messages, 'message')] : []),
  ].join(', ');
}

const times = (count: number): string => (count === 1 ? 'once' : `${String(count)} times`);
