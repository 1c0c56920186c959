import { sizes } from '@agent-workflow/kit/sizes';
import { idPattern, maxIdLength } from '@agent-workflow/protos/message';
import type { Static } from 'typebox';
import { Type } from '../../common/builders.ts';

const Id = Type.String({ minLength: 1, maxLength: maxIdLength });
/** As paths have it. */
const ThreadId = Type.String({ minLength: 1, maxLength: maxIdLength, pattern: idPattern });
const Any = Type.Unsafe<unknown>({});
const Json = Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object' });

export const AgentParams = Type.Object({ agent: Type.String({ minLength: 1, maxLength: 100 }) });

/** A message of the history. Its parts are checked where it becomes one of the thread. */
export const AguiMessage = Type.Object({
  id: Id,
  role: Type.Unsafe<'developer' | 'system' | 'assistant' | 'user' | 'tool' | 'activity' | 'reasoning'>({
    enum: ['developer', 'system', 'assistant', 'user', 'tool', 'activity', 'reasoning'],
  }),
  content: Type.Optional(Any),
  toolCalls: Type.Optional(
    Type.Array(
      Type.Object({
        id: Id,
        function: Type.Object({ name: Type.String({ minLength: 1, maxLength: 256 }), arguments: Type.String() }),
      }),
      { maxItems: sizes.stepMessages },
    ),
  ),
  toolCallId: Type.Optional(Id),
  error: Type.Optional(Type.String()),
});
export type AguiMessage = Static<typeof AguiMessage>;

/** The answer to a question of the run before. */
const Resume = Type.Object({
  interruptId: Id,
  status: Type.Unsafe<'resolved' | 'cancelled'>({ enum: ['resolved', 'cancelled'] }),
  payload: Type.Optional(Any),
});

/** `RunAgentInput` of AG-UI 1.0. */
export const RunAgentInput = Type.Object({
  threadId: ThreadId,
  runId: Id,
  protocolVersion: Type.Optional(Type.String({ maxLength: 32 })),
  parentRunId: Type.Optional(Id),
  state: Type.Optional(Any),
  messages: Type.Array(AguiMessage, { maxItems: 10_000 }),
  tools: Type.Optional(
    Type.Array(
      Type.Object({
        name: Type.String({ minLength: 1, maxLength: 256 }),
        description: Type.Optional(Type.String()),
        parameters: Type.Optional(Json),
      }),
      { maxItems: sizes.tools },
    ),
  ),
  context: Type.Optional(
    Type.Array(Type.Object({ description: Type.String(), value: Type.String() }), { maxItems: sizes.tools }),
  ),
  forwardedProps: Type.Optional(Any),
  resume: Type.Optional(Type.Array(Resume, { maxItems: sizes.tools })),
});
export type RunAgentInput = Static<typeof RunAgentInput>;

/** The thread whose newest run is followed again, or stopped. */
export const ThreadInput = Type.Object({ threadId: ThreadId });
export type ThreadInput = Static<typeof ThreadInput>;
