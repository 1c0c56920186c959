import { ErrorNote } from '../../ui/error-note.tsx';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { clockTime, counted, duration, grouped, times } from '../../ui/format.ts';
import type { Attempt, RunLog, Visit } from './log/run-log.ts';
import type { RecordedStep } from './log/recorded-steps.ts';
import type { RunRecord } from './recorded-run.ts';

const rowHeight = 40;
/** The shortest step is drawn as wide, in percent. */
const minBar = 0.6;

interface StepListProps {
  readonly log: RunLog;
  /** Whether it goes on: the list stays at its end. */
  readonly isGrowing: boolean;
  /** Milliseconds since 1970, by the service's clock. */
  readonly now: number;
  readonly record: RunRecord;
  readonly onShow: (visit: Visit) => void;
}

/** The steps of a run on one axis of time: which node ran, how long, and what ran again. */
export function StepList({ log, isGrowing, now, record, onShow }: StepListProps) {
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
        isEven
        followsEnd={isGrowing}
        render={(visit, index) => (
          <StepRow
            visit={visit}
            isFirst={log.visits[index - 1]?.step !== visit.step}
            isRebuilt={log.isRebuilt}
            axis={axis}
            recorded={record.steps.get(visit.step)}
            now={now}
            onShow={onShow}
          />
        )}
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

interface StepRowProps extends Pick<StepListProps, 'now' | 'onShow'> {
  readonly visit: Visit;
  /** Whether it is the first node of its step. */
  readonly isFirst: boolean;
  /** Whether the events were made again, so that the record knows the times better. */
  readonly isRebuilt: boolean;
  readonly recorded: RecordedStep | undefined;
  readonly axis: Axis;
}

function StepRow({ visit, isFirst, isRebuilt, recorded, axis, now, onShow }: StepRowProps) {
  const kept = isRebuilt ? recorded : undefined;
  const startedAt = kept?.startedAt ?? visit.startedAt;
  const endedAt = visit.endedAt ?? (visit.state === 'sleeping' ? now : undefined);
  const until = kept?.endedAt ?? endedAt ?? now;
  const percent = (at: number): number => (100 * (at - axis.start)) / (axis.end - axis.start);
  const left = Math.min(100 - minBar, clamp(percent(startedAt)));
  const width = Math.max(minBar, clamp(percent(until)) - left);
  const notes = [...restartsOf(visit, kept), ...(isFirst ? tokensOf(recorded) : [])].join(', ');
  return (
    <button type="button" class={`step step-${visit.state}`} onClick={() => onShow(visit)}>
      <span class="step-number">
        <span class="unseen">Step </span>
        {visit.step}
      </span>
      <span class="step-node">{visit.node}</span>
      <span class="step-track">
        <span class="step-bar" style={{ left: `${String(left)}%`, width: `${String(width)}%` }} />
        {visit.attempts.slice(1).map(({ at, cause }) => (
          <span key={at} class={`step-mark step-mark-${cause}`} style={{ left: `${String(clamp(percent(at)))}%` }} />
        ))}
      </span>
      <span class="step-took">
        {isRebuilt && kept?.startedAt === undefined ? clockTime(until) : duration(until - startedAt)}
      </span>
      <span class="step-state">{stateText(visit)}</span>
      {notes !== '' && <span class="step-notes">{notes}</span>}
    </button>
  );
}

const clamp = (percent: number): number => Math.min(100, Math.max(0, percent));

function stateText({ state, wakeAt, messages }: Visit): string {
  if (state === 'sleeping') return wakeAt === undefined ? 'sleeps' : `sleeps until ${clockTime(wakeAt)}`;
  if (state === 'interrupted') return 'waits for an answer';
  return messages > 0 ? `${state}, ${counted(messages, 'message')}` : state;
}

/** What began again: by the events, or by the record where those were made from it. */
function restartsOf({ attempts }: Visit, recorded: RecordedStep | undefined): readonly string[] {
  const count = (cause: Attempt['cause']): number => attempts.filter((each) => each.cause === cause).length;
  const [failures, takeovers] = [recorded?.retries ?? count('failure'), count('takeover')];
  const attempt = recorded?.attempt ?? 1;
  return [
    ...(failures > 0 ? [`tried again ${times(failures)} after a failure`] : []),
    ...(takeovers > 0 ? [`restarted ${times(takeovers)} after its worker was lost`] : []),
    ...(attempt > 1 ? [`attempt ${String(attempt)}, as a worker was lost`] : []),
  ];
}

/** The tokens of a whole step. */
function tokensOf(recorded: RecordedStep | undefined): readonly string[] {
  const { input_tokens: input = 0, output_tokens: output = 0 } = recorded?.tokens ?? {};
  return input + output === 0 ? [] : [`${counted(input, 'token')} in, ${grouped(output)} out`];
}
