import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import { every } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import type { Threads } from '@agent-workflow/protos/threads';
import { growingSilence, logFailures } from '@agent-workflow/runtime/retries';
import type { ClockAhead, Unheard } from './api/runs.ts';
import type { ThreadsValues } from './config.ts';
import type { ThreadStore } from './ports/store.ts';
import type { UnreadableText } from './record/stored-texts.ts';
import { sweepQuestions } from './api/questions.ts';
import { createWebhookOwners, refreshMs } from './api/webhook-owners.ts';
import { createThreads } from './threads.ts';

interface OpenThreadsOptions {
  readonly store: ThreadStore;
  readonly values: ThreadsValues;
  readonly log: Log;
  /** Time between two sweeps, in milliseconds; a minute when absent. */
  readonly sweepMs?: number;
  /** Whether other processes write to the same record. */
  readonly isShared?: boolean;
}

/** The threads service, and a sweeper that drops what is too old; disposing of it closes the store. */
interface OpenedThreads extends AsyncDisposable {
  readonly threads: Threads;
}

const minuteMs = 60_000;
const checkpointsAtOnce = 200;
const questionsAtOnce = 200;
/** How often one text that cannot be read is logged, in milliseconds, and of how many that is remembered. */
const loggedEveryMs = 10 * 60_000;
const rememberedTexts = 1000;
/** As many agents as may be registered. */
const rememberedAgents = 100;

export function openThreads(options: OpenThreadsOptions): OpenedThreads {
  const { store, values, log, sweepMs = minuteMs, isShared = false } = options;
  const { CHECKPOINT_KEEP: keep, CHECKPOINT_TTL: keptSeconds, OPEN_QUESTIONS: mostQuestions } = values;
  const sweep = async (): Promise<void> => {
    const time = store.now() - keptSeconds * 1000;
    while ((await store.expireCheckpoints(time, checkpointsAtOnce)) === checkpointsAtOnce);
  };
  const sweeper =
    keptSeconds === 0
      ? undefined
      : every(
          sweepMs,
          sweep,
          logFailures({ log, text: 'old checkpoints could not be dropped; the next sweep tries again' }),
        );
  const webhookOwners = createWebhookOwners(store, { now: store.now, isShared });
  const onUnread = logFailures({ log, text: 'which owners have webhooks could not be read; it is tried again' });
  void webhookOwners.refresh().catch(onUnread);
  const refreshing = isShared ? every(refreshMs, webhookOwners.refresh, onUnread) : undefined;
  const sweptQuestions = every(
    sweepMs,
    async () => {
      while ((await sweepQuestions(store, store.now(), questionsAtOnce)) === questionsAtOnce);
    },
    logFailures({ log, text: 'questions that are not open any more could not be removed; the next sweep tries again' }),
  );
  return {
    threads: createThreads({
      ...{ store, keep, webhookOwners, mostQuestions },
      onUnreadable: createUnreadableLog(log),
      onClockAhead: createClockLog(log),
      onUnheard: createUnheardLog(log),
    }),
    [Symbol.asyncDispose]: async () => {
      await sweptQuestions[Symbol.asyncDispose]();
      await refreshing?.[Symbol.asyncDispose]();
      await sweeper?.[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** Logs texts that are left out of replies, each column of a thread once in ten minutes. */
function createUnreadableLog(log: Log): (text: UnreadableText) => void {
  const isFirst = createFirstOfKind({ silentMs: loggedEveryMs, max: rememberedTexts });
  return ({ threadId, column }) => {
    if (isFirst(JSON.stringify([threadId, column])))
      log.error({ threadId, column }, 'a stored text is not the JSON that it should be: it is left out of replies');
  };
}

/** Logs questions to roles that nobody can have, of each agent at growing intervals. */
function createUnheardLog(log: Log): (unheard: Unheard) => void {
  const isFirst = createFirstOfKind({ ...growingSilence, max: rememberedAgents });
  return (unheard) => {
    if (isFirst(JSON.stringify([unheard.agent, unheard.role])))
      log.warn({ ...unheard }, 'a question is to a role that access.roles does not have: only an admin can answer it');
  };
}

/** Logs workers whose clocks are ahead, for each agent at growing intervals: not for each worker, because workers choose their own names. */
function createClockLog(log: Log): (ahead: ClockAhead) => void {
  const isFirst = createFirstOfKind({ ...growingSilence, max: rememberedAgents });
  return (ahead) => {
    if (isFirst(ahead.agent ?? ''))
      log.warn({ ...ahead }, 'the clock of a worker is ahead: times of its commits are moved to those of this process');
  };
}
