import { runStatuses } from '@agent-workflow/protos/lists';
import { Type } from 'typebox';
import { BodyId, Id, paged, paging, objectOf, Timestamp, words } from './common.ts';

export const RunParams = Type.Object({ run_id: Id });

/** The reply when a run is accepted. */
export const AcceptedRun = objectOf('AcceptedRun', {
  run_id: Type.String(),
  thread_id: Type.String(),
  status: words(runStatuses),
});

export const Run = objectOf('Run', {
  run_id: Type.String(),
  thread_id: Type.String(),
  status: words(runStatuses),
  created_at: Timestamp,
  updated_at: Timestamp,
  resumes: Type.Optional(Type.String()),
  iterations: Type.Optional(Type.Integer()),
  recursion_limit_reached: Type.Optional(Type.Boolean()),
  error: Type.Optional(
    objectOf('RunError', { code: Type.String(), message: Type.String(), node: Type.Optional(Type.String()) }),
  ),
});

export const RunList = objectOf('RunList', { runs: Type.Array(Run), ...paged });

export const RunsQuery = Type.Object({ ...paging });

/** The event after which a stream continues, when there is no `Last-Event-ID`. */
export const StreamQuery = Type.Object({
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        'Number of the last event that was seen; beyond the end of the log, only what comes after it is given',
    }),
  ),
});

/** A ticket for the stream of one run. */
export const RunTicket = objectOf('RunTicket', { ticket: Type.String(), expires_at: Timestamp });

const stopped = {
  success: Type.Boolean(),
  run_id: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
  status: words([...runStatuses, 'idle']),
  message: Type.String(),
};

export const StoppedRun = objectOf('StoppedRun', stopped);
export const StoppedThread = objectOf('StoppedThread', { ...stopped, thread_id: Type.String() });

/** The thread whose run is to be stopped. */
export const StopInput = objectOf('StopRequest', {
  thread_id: Type.Optional(BodyId),
  config: Type.Optional(objectOf('StopConfig', { thread_id: Type.Optional(BodyId) })),
});

export const FixedThread = objectOf('FixedThread', {
  success: Type.Boolean(),
  message: Type.String(),
  removed_count: Type.Integer(),
  state: Type.Unsafe<Record<string, unknown>>({ type: 'object' }),
});

export const NoInput = Type.Object({});
