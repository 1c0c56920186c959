import type { Static } from 'typebox';
import { Type } from '../../common/builders.ts';
import { Id, JsonObject, TaskParams } from './common.ts';

/** It becomes a header: what it may hold is checked where it is kept. */
const HeaderText = Type.String({ maxLength: 4096 });

export const CreatePush = Type.Object({
  tenant: Type.Optional(Id),
  id: Type.Optional(Id),
  taskId: Type.Optional(Id),
  url: Type.String({ minLength: 1, maxLength: 2048 }),
  token: Type.Optional(HeaderText),
  authentication: Type.Optional(
    Type.Object({
      scheme: Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9!#$%&*+.^_|~-]+$' }),
      credentials: Type.Optional(HeaderText),
    }),
  ),
  metadata: Type.Optional(JsonObject),
});
export type CreatePush = Static<typeof CreatePush>;

export const ListPushes = Type.Object({
  tenant: Type.Optional(Id),
  pageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  pageToken: Type.Optional(Type.String({ maxLength: 4096 })),
});

export const OfTenant = Type.Object({ tenant: Type.Optional(Id) });

export const PushParams = Type.Object({
  ...TaskParams.properties,
  config: Type.String({ minLength: 1, maxLength: 256 }),
});
