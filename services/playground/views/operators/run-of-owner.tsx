import '../../styles/trace.css';
import type { Run } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { useLoaded } from '../../session/loaded.ts';
import { useRefresh } from '../../session/refresh.ts';
import { go, route, toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { duration } from '../../ui/format.ts';
import { Icon } from '../../ui/icon.tsx';
import { CopyId } from '../../ui/patterns/copy-id.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { StatusDot } from '../../ui/patterns/status-dot.tsx';
import { useTitle } from '../../ui/title.ts';
import { createRunLog } from '../runs/log/run-log.ts';
import { tookMs, whyOf } from '../runs/run-words.ts';
import { isUnderWay } from '../runs/status.tsx';
import { useTrace, type ReadTrace } from '../runs/trace/followed-trace.ts';
import { readPlace } from '../runs/trace/run-address.ts';
import { TracePanel } from '../runs/trace/trace-panel.tsx';
import { useNow } from '../runs/use-now.ts';
import { runInWords, traceInWords } from './masked-errors.ts';
import { ownerInWords, ownerOf, toPlaceId } from './of-owner.ts';
import { toThreadHash } from './owned-rows.tsx';
import { ReasonDialog } from './reason-dialog.tsx';

/** How often a run that goes on is read again, in milliseconds. */
const refreshMs = 3000;

interface RunOfOwnerProps {
  /** Empty: the anonymous owner. */
  readonly userId: string;
  readonly runId: string;
}

/** A run of somebody: how it stands, why it failed, and its trace without contents. */
export function RunOfOwner({ userId, runId }: RunOfOwnerProps) {
  const { state, again } = useLoaded(
    async (signal) => runInWords(await client.admin.getRun(runId, ownerOf(userId), { signal })),
    [userId, runId],
  );
  const { value: run, error } = state.value;
  const isOpen = run !== undefined && isUnderWay(run.status);
  useRefresh(() => {
    if (isOpen) again();
  }, refreshMs);
  const read = useMemo(
    (): ReadTrace => async (id, query, options) =>
      traceInWords(await client.admin.getTrace(id, { ...query, ...ownerOf(userId) }, options)),
    [userId],
  );
  const traced = useTrace(runId, run?.updated_at, read);
  const now = useNow(isOpen);
  const log = useMemo(createRunLog, [runId]);
  const owner = ownerInWords(userId);
  useTitle(`Run of ${owner}`);
  const trace = traced.trace.value;
  const place = readPlace(route.value.query);
  const backHref = toHash({ view: 'operators' });
  return (
    <article class={`run-page ${place.isInside ? 'is-inside' : ''}`} aria-label="Run">
      <header class="run-top">
        <div class="bar">
          <a class="button button-quiet button-sign back" href={backHref} aria-label="Back to Operators">
            <Icon name="back" />
          </a>
          <a class="crumb" href={backHref}>
            Operators
          </a>
          <CopyId id={runId} what="the id of the run" />
          {run && <RunActions {...{ run, userId }} onDone={again} />}
        </div>
        <h1 dir="auto">Run of {owner}</h1>
        {run && <Facts {...{ run, userId, now }} />}
        {run?.error && (
          <p class="run-cause">
            <Icon name="warn" />
            <span>{whyOf(run)}</span>
          </p>
        )}
        {error !== undefined && <Failure error={error} retry={again} />}
      </header>
      <div class="tab-panel">
        {traced.error.value !== undefined && <Failure error={traced.error.value} retry={traced.again} />}
        {!trace && traced.error.value === undefined && <Skeleton rows={8} />}
        {trace && <TracePanel {...{ trace, log, now, place }} records={undefined} />}
      </div>
    </article>
  );
}

interface FactsProps {
  readonly run: Run;
  readonly userId: string;
  readonly now: number;
}

function Facts({ run, userId, now }: FactsProps) {
  const took = tookMs(run, now);
  return (
    <div class="detail-facts">
      <StatusDot status={run.status} hasWord />
      {took !== undefined && <span>{duration(took)}</span>}
      <span>{run.agent}</span>
      <span>
        <a href={toThreadHash(userId, run.thread_id)}>Thread</a>{' '}
        <CopyId id={run.thread_id} what="the id of the thread" />
      </span>
      <RelativeTime at={run.created_at} isInSentence />
      <span>Contents are masked</span>
    </div>
  );
}

interface RunActionsProps {
  readonly run: Run;
  readonly userId: string;
  readonly onDone: () => void;
}

/** Stopping and retrying go on record with a reason. */
function RunActions({ run, userId, onDone }: RunActionsProps) {
  const chosen = useSignal<'stop' | 'retry' | undefined>(undefined);
  const close = (): void => {
    chosen.value = undefined;
  };
  const stop = async (reason: string, signal: AbortSignal): Promise<void> => {
    await client.admin.cancelRun(run.run_id, { ...ownerOf(userId), reason }, { signal });
    close();
    onDone();
  };
  const retry = async (reason: string, signal: AbortSignal): Promise<void> => {
    const made = await client.admin.retryRun(run.run_id, { ...ownerOf(userId), reason }, { signal });
    close();
    go({ view: 'operators', id: toPlaceId({ userId, runId: made.run_id }) });
  };
  return (
    <div class="bar-actions">
      {isUnderWay(run.status) && (
        <button type="button" onClick={() => (chosen.value = 'stop')}>
          Stop
        </button>
      )}
      {run.status === 'failed' && (
        <button type="button" class="button-first" onClick={() => (chosen.value = 'retry')}>
          Retry
        </button>
      )}
      {chosen.value === 'stop' && (
        <ReasonDialog title="Stop this run?" verb="Stop the run" work={stop} onClose={close}>
          It is stopped at once. The steps that it has committed stay.
        </ReasonDialog>
      )}
      {chosen.value === 'retry' && (
        <ReasonDialog title="Retry this run?" verb="Retry" work={retry} onClose={close}>
          A new run of the owner begins with the step that failed.
        </ReasonDialog>
      )}
    </div>
  );
}
