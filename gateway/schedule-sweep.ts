import { idFrom } from '@agent-workflow/kit/ids';
import type { Log } from '@agent-workflow/kit/log';
import { openDueSweep } from '@agent-workflow/runtime/due-sweep';
import type { Call } from '@agent-workflow/protos/call';
import type { Services } from './dialects/common/services.ts';
import { v1 } from './dialects/v1/dialect.ts';
import { createRun } from './dialects/v1/endpoints/runs.ts';
import { toStartRequest } from './dialects/common/start-run.ts';
import type { RunOrder } from './dialects/common/run-order.ts';
import { ofKey } from './api-keys/scopes.ts';
import { accessOf } from './http/endpoint.ts';
import type { Authorize } from './http/access.ts';
import { createSubjectOf } from './middleware/subject.ts';
import { createFireDue, type ScheduledRun } from './schedules/fire.ts';

interface ScheduleSweepOptions extends Pick<Services, 'threads' | 'execution' | 'memory' | 'tools' | 'access'> {
  readonly config: { readonly CALL_TIMEOUT_MS: number };
  /** Absent: every caller may do everything. */
  readonly authorize?: Authorize | undefined;
  readonly secured: boolean;
  readonly log: Log;
}

/** How long the handling of one schedule may take, in milliseconds. */
const handleMs = 60_000;

/**
 * Fires the schedules of all owners. It stands at the gateway, because each slot is what a request would be: the authorization backend is asked
 * with the stored claims, and the body becomes a run as that of `POST /v1/runs` does. Every gateway does it.
 */
export function openScheduleSweep(options: ScheduleSweepOptions): AsyncDisposable {
  const { threads, execution, authorize, config, log } = options;
  const subjectOf = createSubjectOf(options, { callTimeoutMs: config.CALL_TIMEOUT_MS, rules: options.access });

  const refusalOf = async ({ owner, user, run, threadId }: ScheduledRun): Promise<string | undefined> => {
    const access = accessOf(createRun);
    if (!authorize || !access) return undefined;
    const principal = { owner, ...(user && { user }) };
    const subject = authorize.needsAgent
      ? await subjectOf({ principal, params: {}, input: onThread(run, threadId), dialect: v1 }, createRun)
      : undefined;
    if (await authorize(principal, access.resource, access.action, subject)) return undefined;
    return ofKey(user).keyId === undefined ? notAllowed : keyEnded;
  };

  const handle = createFireDue({
    threads,
    execution,
    refusalOf,
    start: async (scheduled, call) => execution.start(await toRun(scheduled, options, call), call),
  });
  return openDueSweep({ threads, kind: 'schedule', handle, handleMs, log });
}

const notAllowed = 'the authorization backend does not allow the run any more';
const keyEnded =
  'the API key by which it was set up does not allow the run any more: it was revoked, has expired or lacks the scope, keys are off, or the authorization backend refuses it';

const onThread = (run: ScheduledRun['run'], threadId: string): RunOrder =>
  ({ ...run, config: { ...(run['config'] as object | undefined), thread_id: threadId } }) as RunOrder;

/** Each replica that fires the slot makes the same run of it, with the same ids. */
const toRun = (
  { owner, user, run, terms, runId, threadId, now }: ScheduledRun,
  services: Pick<Services, 'tools' | 'secured' | 'threads' | 'access'>,
  call: Call,
): ReturnType<typeof toStartRequest> =>
  toStartRequest(
    {
      ...{ owner, user, requestId: runId, agent: undefined, at: new Date(now), idempotency: { onceKey: runId } },
      input: onThread(run, threadId),
      call: () => call,
      newId: (what) => (what === 'run' ? runId : idFrom(runId, what)),
    },
    { granularity: 'low', terms, webhookIsChecked: true },
    services,
  );
