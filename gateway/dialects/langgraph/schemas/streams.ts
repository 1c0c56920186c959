import type { Static } from 'typebox';
import { Type } from '../../common/builders.ts';
import { Json, JsonObject } from './common.ts';

/** What the stream of a thread may hold: `run_modes` and `lifecycle`, and the modes of a run by their names. */
export const ThreadStreamQuery = Type.Object({
  stream_mode: Type.Optional(Type.Unsafe<string | readonly string[]>({ type: ['string', 'array'] })),
});

const label = Type.String({ maxLength: 1024 });

/** What a subscription to the events of a thread asks for, on either transport. */
const filter = {
  channels: Type.Array(label, { minItems: 1, maxItems: 64 }),
  namespaces: Type.Optional(Type.Array(Type.Array(label, { maxItems: 64 }), { maxItems: 256 })),
  depth: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
};

/** A key that is not known is refused: what it would have narrowed would come. */
export const EventStream = Type.Object(
  { ...filter, since: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })) },
  { additionalProperties: false },
);

export const Subscribe = Type.Object(filter, { additionalProperties: false });
export type SubscribeInput = Static<typeof Subscribe>;

export const Unsubscribe = Type.Object({ subscription_id: Type.String({ maxLength: 256 }) });

export const Command = Type.Object({
  id: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  method: Type.String({ minLength: 1, maxLength: 256 }),
  params: Type.Optional(JsonObject),
});
export type CommandInput = Static<typeof Command>;

const interruptId = Type.String({ minLength: 1, maxLength: 256 });

const Answer = Type.Object({
  namespace: Type.Optional(Type.Array(label, { maxItems: 64 })),
  interrupt_id: interruptId,
  response: Json,
});

/** One answer, or several. */
export const Respond = Type.Object({
  interrupt_id: Type.Optional(interruptId),
  response: Type.Optional(Json),
  responses: Type.Optional(Type.Array(Answer, { minItems: 1, maxItems: 256 })),
  update: Type.Optional(Json),
  goto: Type.Optional(Json),
  config: Type.Optional(JsonObject),
  metadata: Type.Optional(JsonObject),
});
export type RespondInput = Static<typeof Respond>;

export const GetTree = Type.Object({ run_id: Type.Optional(Type.String({ maxLength: 256 })) });
