import { maxIdLength } from '@agent-workflow/protos/message';
import { Type } from '../../common/builders.ts';

/** A JSON object of any shape. */
export const JsonObject = Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object' });

/** An id in a body; empty: absent, as the protocol leaves out defaults. */
export const Id = Type.String({ maxLength: maxIdLength });

const AgentName = Type.String({ minLength: 1, maxLength: 100 });
const PathId = Type.String({ minLength: 1, maxLength: maxIdLength });

export const AgentParams = Type.Object({ agent: AgentName });
export const TaskParams = Type.Object({ agent: AgentName, run_id: PathId });

/** How many messages of its history a task is shown with, the newest. */
export const HistoryLength = Type.Integer({ minimum: 0 });
