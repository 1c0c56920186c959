import { sizes } from '@agent-workflow/kit/sizes';
import type { Static } from 'typebox';
import { Type } from '../../common/builders.ts';
import { HistoryLength, Id, JsonObject } from './common.ts';
import { CreatePush } from './pushes.ts';

/** One part of a message. It has one of `text`, `raw`, `url` and `data`, which is checked where it becomes a block. */
export const Part = Type.Object({
  text: Type.Optional(Type.String()),
  /** Base64. */
  raw: Type.Optional(Type.String()),
  url: Type.Optional(Type.String({ maxLength: 8192 })),
  data: Type.Optional(Type.Unsafe<unknown>({})),
  metadata: Type.Optional(JsonObject),
  filename: Type.Optional(Type.String({ maxLength: 1024 })),
  mediaType: Type.Optional(Type.String({ maxLength: 256 })),
});
export type Part = Static<typeof Part>;

export const A2aMessage = Type.Object({
  messageId: Type.String({ minLength: 1, maxLength: 256 }),
  contextId: Type.Optional(Id),
  taskId: Type.Optional(Id),
  role: Type.Unsafe<'ROLE_USER'>({ enum: ['ROLE_USER'] }),
  parts: Type.Array(Part, { minItems: 1, maxItems: sizes.stepMessages }),
  metadata: Type.Optional(JsonObject),
  extensions: Type.Optional(Type.Array(Type.String({ maxLength: 2048 }), { maxItems: 64 })),
  referenceTaskIds: Type.Optional(Type.Array(Id, { maxItems: 64 })),
});
export type A2aMessage = Static<typeof A2aMessage>;

export const SendMessage = Type.Object({
  tenant: Type.Optional(Id),
  message: A2aMessage,
  configuration: Type.Optional(
    Type.Object({
      acceptedOutputModes: Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 64 })),
      taskPushNotificationConfig: Type.Optional(CreatePush),
      historyLength: Type.Optional(HistoryLength),
      returnImmediately: Type.Optional(Type.Boolean()),
    }),
  ),
  metadata: Type.Optional(JsonObject),
});
export type SendMessage = Static<typeof SendMessage>;
