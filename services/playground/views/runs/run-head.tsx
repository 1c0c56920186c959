import type { Run } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useAction } from '../../session/action.ts';
import { useSeveralAgents } from '../../session/agents.ts';
import { go, toHash } from '../../session/route.ts';
import { client, describe } from '../../session/session.ts';
import { duration, grouped } from '../../ui/format.ts';
import { dayTime } from '../../ui/time-text.ts';
import { Icon } from '../../ui/icon.tsx';
import { CopyId } from '../../ui/patterns/copy-id.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { StatusDot } from '../../ui/patterns/status-dot.tsx';
import { causeOf, reasonBeside } from './trace/cause.ts';
import type { FollowedRun } from './followed-run.ts';
import { factsOf } from './listed-runs.ts';
import { statusOf, type RunLog } from './log/run-log.ts';
import { goTo, type RunPlace } from './trace/run-address.ts';
import { RunCurl } from './run-curl.tsx';
import { isUnderWay } from './status.tsx';
import { StopRun } from './stop-run.tsx';
import type { FollowedTrace, KnownTrace } from './trace/followed-trace.ts';
import { OtherRun, titleOf } from './other-run.tsx';
import { allOf, firstChosen, idOf, thrownOf, tokensOf, type SpanNode } from './trace/span-tree.ts';
import { nameOf, rowKindOf } from './trace/row-kind.ts';
import { useNow } from './use-now.ts';

interface RunHeadProps {
  readonly run: Run;
  readonly followed: FollowedRun;
  readonly traced: FollowedTrace;
  readonly place: RunPlace;
  /** The address of the list that it was opened from. */
  readonly backHref: string;
  readonly onStopped: () => void;
}

/** What is known of a run at a glance, why it failed, and what can be done with it. */
export function RunHead({ run, followed, traced, place, backHref, onStopped }: RunHeadProps) {
  const { log, phase, error, again } = followed;
  const status = statusNow(log, run);
  const trace = traced.trace.value;
  return (
    <header class="run-top">
      <div class="bar">
        <a class="button button-quiet button-sign back" href={backHref} aria-label="Back to Runs">
          <Icon name="back" />
        </a>
        <a class="crumb" href={backHref}>
          Runs
        </a>
        <CopyId id={run.run_id} what="the id of the run" />
        <p class="run-phase" role="status">
          {phaseSentence(followed)}
        </p>
        <RunActions run={run} status={status} trace={trace} place={place} onStopped={onStopped} />
      </div>
      <h1 dir="auto">{titleOf(run)}</h1>
      <Facts run={run} status={status} trace={trace} wakeAt={wakeOf(log, run)} />
      <Cause run={run} trace={trace} />
      {log.isRebuilt && (
        <p class="hint run-rebuilt">
          The events of this run are no longer kept. Those shown were made from its record.
        </p>
      )}
      {phase.value === 'failed' && <Failure error={error.value} retry={again} />}
    </header>
  );
}

interface RunActionsProps {
  readonly run: Run;
  readonly status: string;
  readonly trace: KnownTrace | undefined;
  readonly place: RunPlace;
  readonly onStopped: () => void;
}

function RunActions({ run, status, trace, place, onStopped }: RunActionsProps) {
  const asked = useSignal<'stop' | 'compare' | undefined>(undefined);
  const isOpen = isUnderWay(status);
  const retry = useAction<[]>(async (signal) => {
    const made = await client.runs.retry(run.run_id, { signal });
    go({ view: 'runs', id: made.run_id });
  });
  const close = (): void => {
    asked.value = undefined;
  };
  const failed = status === 'failed' && trace ? failedStepOf(trace) : undefined;
  return (
    <div class="bar-actions">
      {status === 'failed' && (
        <button type="button" class="button-first" disabled={retry.isBusy.value} onClick={() => retry.start()}>
          <Icon name="retry" />
          Retry<span class="only-wide">{failed ? ` from ${nameOf(failed, rowKindOf(failed))}` : ''}</span>
        </button>
      )}
      <a
        class="button"
        href={toHash({ view: 'chat', id: run.thread_id, query: { run: run.run_id } })}
        aria-label="Open in chat"
      >
        <Icon name="chat" />
        <span class="only-wide">Open in chat</span>
      </a>
      {isOpen && (
        <button type="button" onClick={() => (asked.value = 'stop')}>
          Stop
        </button>
      )}
      <RunCurl run={run} />
      {place.other === undefined ? (
        <button
          type="button"
          class="button-quiet button-sign"
          aria-label="Compare with another run"
          title="Compare with another run"
          onClick={() => (asked.value = 'compare')}
        >
          <Icon name="compare" />
        </button>
      ) : (
        <button type="button" onClick={() => goTo({ other: undefined })}>
          End comparison
        </button>
      )}
      {retry.error.value !== undefined && (
        <p class="failed-action note note-error" role="alert">
          {describe(retry.error.value)}
        </p>
      )}
      {asked.value === 'stop' && (
        <StopRun
          run={run}
          onClose={close}
          onStopped={() => {
            close();
            onStopped();
          }}
        />
      )}
      {asked.value === 'compare' && (
        <OtherRun
          run={run}
          onClose={close}
          onChoose={(other) => {
            close();
            goTo({ other, show: 'trace' });
          }}
        />
      )}
    </div>
  );
}

/** The step of the run that failed. */
const failedStepOf = ({ tree }: KnownTrace): SpanNode | undefined =>
  tree.findLast((node) => node.span.kind !== 'takeover');

interface FactsProps {
  readonly run: Run;
  readonly status: string;
  readonly trace: KnownTrace | undefined;
  readonly wakeAt: number | undefined;
}

function Facts({ run, status, trace, wakeAt }: FactsProps) {
  const { createdAt, updatedAt, resumes } = factsOf(run);
  const isOpen = isUnderWay(status);
  const now = useNow(isOpen);
  const hasSeveral = useSeveralAgents().length > 0;
  const models = Object.keys(run.usage?.models ?? {});
  const tokens = run.usage ? run.usage.input_tokens + run.usage.output_tokens : tokensIn(trace);
  return (
    <div class="detail-facts">
      <StatusDot status={status} hasWord />
      <span>{duration((isOpen ? now : updatedAt) - createdAt)}</span>
      {tokens > 0 && (
        <span title={run.usage && `${grouped(run.usage.input_tokens)} in, ${grouped(run.usage.output_tokens)} out`}>
          {grouped(tokens)} tokens{models.length > 0 && ` of ${models.slice(0, 3).join(', ')}`}
        </span>
      )}
      {(hasSeveral || run.revision !== undefined) && (
        <span>
          {run.agent}
          {run.revision !== undefined && ` revision ${run.revision}`}
        </span>
      )}
      {trace && <span>{stepsText(trace)}</span>}
      {run['recursion_limit_reached'] === true && <span>ended by its recursion limit</span>}
      {wakeAt !== undefined && <span>sleeps until {dayTime(wakeAt, now)}</span>}
      <a href={toHash({ view: 'threads', id: run.thread_id })}>Thread</a>
      {resumes !== undefined && <a href={toHash({ view: 'runs', id: resumes })}>The run before it</a>}
      <RelativeTime at={String(run['created_at'])} isInSentence />
    </div>
  );
}

const tokensIn = (trace: KnownTrace | undefined): number =>
  trace?.tree.reduce((sum, { span, step }) => sum + tokensOf(step ?? span), 0) ?? 0;

/** `27 steps, 2 replayed`, as far as they are on record. */
function stepsText({ tree, isWhole }: KnownTrace): string {
  const steps = tree.filter((node) => node.span.kind !== 'takeover').length;
  let replayed = 0;
  for (const node of allOf(tree)) if (node.span.replayed === true) replayed++;
  return `${isWhole ? '' : 'more than '}${grouped(steps)} ${steps === 1 ? 'step' : 'steps'}${replayed > 0 ? `, ${grouped(replayed)} replayed` : ''}`;
}

/** Why a run failed, beside what. */
function Cause({ run, trace }: { readonly run: Run; readonly trace: KnownTrace | undefined }) {
  const { error } = run;
  if (!error) return null;
  const node = trace && firstChosen(trace.tree, true, 0);
  const tries = trace ? triesText(trace) : '';
  const thrown = node && thrownOf(node);
  const cause = causeOf(error, thrown);
  const reason = reasonBeside(error, thrown);
  return (
    <p class="run-cause">
      <Icon name="warn" />
      <span>
        {error.node !== undefined && (
          <>
            <b>{error.node}</b> failed{tries}:{' '}
          </>
        )}
        {cause.length > maxCause ? `${cause.slice(0, maxCause)} …` : cause}
        {reason !== undefined && (
          <>
            {' '}
            <code>{reason}</code>
          </>
        )}
      </span>
      {node && (
        <button
          type="button"
          class="link"
          onClick={() => goTo({ show: 'trace', span: idOf(node), tab: 'error', isInside: true })}
        >
          Show step
        </button>
      )}
    </p>
  );
}

/** More characters of an error are in the Error tab of its step. */
const maxCause = 2000;

function triesText(trace: KnownTrace): string {
  const tries = failedStepOf(trace)?.children.filter(({ span }) => span.kind === 'attempt').length ?? 0;
  return tries > 1 ? ` after ${grouped(tries)} tries` : '';
}

/** The events know more of a run that goes on than what was read of it; its record knows better once it has ended. */
function statusNow(log: RunLog, run: Run): string {
  if (log.last) return statusOf(log.last);
  if (!isUnderWay(run.status) || log.events.length === 0) return run.status;
  const open = [...log.open.values()];
  return open.length > 0 && open.every(({ state }) => state === 'sleeping') ? 'sleeping' : 'running';
}

function wakeOf(log: RunLog, run: Run): number | undefined {
  if (log.last) return undefined;
  const wakes = [...log.open.values()].flatMap(({ wakeAt }) => (wakeAt === undefined ? [] : [wakeAt]));
  if (wakes.length > 0) return Math.min(...wakes);
  return log.events.length === 0 && run.wake_at !== undefined ? Date.parse(run.wake_at) : undefined;
}

function phaseSentence({ phase, resumedBehind, log }: FollowedRun): string {
  switch (phase.value) {
    case 'waiting':
      return '';
    case 'following':
      return resumedBehind.value === undefined
        ? 'Live'
        : `Live again: resumed after event ${String(resumedBehind.value)}`;
    case 'cut':
      return `The connection was cut. It is made again after event ${String(log.events.at(-1)?.seq ?? 0)} …`;
    case 'ended':
      return resumedBehind.value === undefined ? '' : `Ended; resumed once after event ${String(resumedBehind.value)}`;
    case 'failed':
      return 'No longer followed';
  }
}
