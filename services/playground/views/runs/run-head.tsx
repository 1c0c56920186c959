import type { Run } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useSeveralAgents } from '../../session/agents.ts';
import { toHash } from '../../session/route.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Time } from '../../ui/time.tsx';
import type { FollowedRun } from './followed-run.ts';
import { dayTime, duration, grouped } from '../../ui/format.ts';
import { factsOf } from './listed-runs.ts';
import { statusOf, type RunLog } from './log/run-log.ts';
import { isUnderWay, Status } from './status.tsx';
import { StopRun } from './stop-run.tsx';
import { useNow } from './use-now.ts';

interface RunHeadProps {
  readonly id: string;
  readonly run: Run | undefined;
  readonly followed: FollowedRun;
  readonly onStopped: () => void;
}

/** What is known of a run at a glance, and what can be done with it. */
export function RunHead({ id, run, followed, onStopped }: RunHeadProps) {
  const { log, phase, error, again } = followed;
  followed.readVersion();
  const isAsking = useSignal(false);
  const status = statusNow(log, run);
  const isOpen = status !== undefined && isUnderWay(status);
  const now = useNow(isOpen);
  const close = (): void => {
    isAsking.value = false;
  };
  return (
    <section class="run-head" aria-label="Run">
      <div class="pane-head">
        <h1>
          Run <code class="id">{id}</code>
        </h1>
        {status !== undefined && <Status status={status} />}
        <p class="hint run-phase" role="status">
          {phaseSentence(followed)}
        </p>
        {run && (
          <>
            <a class="button" href={toHash({ view: 'chat', id: run.thread_id, query: { run: id } })}>
              Open in chat
            </a>
            <button
              type="button"
              aria-disabled={!isOpen}
              title={isOpen ? undefined : 'The run has ended'}
              onClick={() => {
                isAsking.value = isOpen;
              }}
            >
              Stop
            </button>
          </>
        )}
      </div>
      {run && <Facts run={run} now={now} isOpen={isOpen} wakeAt={wakeOf(log, run)} />}
      {log.isRebuilt && (
        <p class="note">
          The events of this run are no longer kept. These were made from its record: its committed steps and whole
          messages, with the times of their commits.
        </p>
      )}
      {phase.value === 'failed' && <ErrorNote error={error.value} again={again} />}
      {isAsking.value && run && (
        <StopRun
          run={run}
          onClose={close}
          onStopped={() => {
            close();
            onStopped();
          }}
        />
      )}
    </section>
  );
}

interface FactsProps {
  readonly run: Run;
  readonly now: number;
  readonly isOpen: boolean;
  readonly wakeAt: number | undefined;
}

function Facts({ run, now, isOpen, wakeAt }: FactsProps) {
  const { createdAt, updatedAt, error, resumes, iterations } = factsOf(run);
  const hasSeveral = useSeveralAgents().length > 0;
  return (
    <>
      <dl class="facts">
        <Fact name="Thread">
          <a class="id" href={toHash({ view: 'threads', id: run.thread_id })}>
            {run.thread_id}
          </a>
        </Fact>
        {hasSeveral && run.agent !== undefined && <Fact name="Agent">{run.agent}</Fact>}
        {run.revision !== undefined && <Fact name="Revision">{run.revision}</Fact>}
        <Fact name="Accepted">
          <Time at={String(run['created_at'])} />
        </Fact>
        <Fact name={isOpen ? 'Takes' : 'Took'}>{duration((isOpen ? now : updatedAt) - createdAt)}</Fact>
        {wakeAt !== undefined && <Fact name="Sleeps until">{dayTime(wakeAt, now)}</Fact>}
        {iterations !== undefined && <Fact name="Iterations">{grouped(iterations)}</Fact>}
        {run['recursion_limit_reached'] === true && <Fact name="Ended by">its recursion limit</Fact>}
        {resumes !== undefined && (
          <Fact name="Continues">
            <a class="id" href={toHash({ view: 'runs', id: resumes })}>
              {resumes}
            </a>
          </Fact>
        )}
        <Tokens run={run} />
      </dl>
      {error && (
        <p class="note note-error">
          {error.code}: {error.message}
        </p>
      )}
    </>
  );
}

function Tokens({ run: { usage } }: { readonly run: Run }) {
  if (!usage) return null;
  const models = Object.entries(usage.models);
  return (
    <>
      <Fact name="Tokens">
        {grouped(usage.input_tokens)} in, {grouped(usage.output_tokens)} out
      </Fact>
      {models.length > 1 &&
        models.map(([model, tokens]) => (
          <Fact key={model} name={`Tokens of ${model}`}>
            {grouped(tokens.input_tokens)} in, {grouped(tokens.output_tokens)} out
          </Fact>
        ))}
      {models.length === 1 && <Fact name="Model">{models[0]?.[0]}</Fact>}
    </>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The events know more of a run that goes on than what was read of it; its record knows better once it has ended. */
function statusNow(log: RunLog, run: Run | undefined): string | undefined {
  if (log.last) return statusOf(log.last);
  if (run !== undefined && !isUnderWay(run.status)) return run.status;
  if (log.events.length === 0) return run?.status;
  const open = [...log.open.values()];
  if (open.length > 0 && open.every(({ state }) => state === 'sleeping')) return 'sleeping';
  return 'running';
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
      return 'Waiting for its events …';
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
