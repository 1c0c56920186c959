import type { Static } from 'typebox';
import { Type } from '../../common/builders.ts';
import { Json, JsonObject, mostItems, paging, PathId, selectOf, sortOrder, texts, word } from './common.ts';

export const ThreadParams = Type.Object({ thread_id: PathId });
export const CheckpointParams = Type.Object({ thread_id: PathId, checkpoint_id: PathId });

/** Minutes, or minutes with what happens then. */
const ttl = Type.Optional(
  Type.Unsafe<number | { readonly ttl?: number; readonly strategy?: string }>({ type: ['number', 'object'] }),
);

const Update = Type.Object({
  values: Type.Optional(Json),
  command: Type.Optional(JsonObject),
  as_node: Type.Optional(Type.String({ maxLength: 256 })),
});
export type UpdateInput = Static<typeof Update>;

export const CreateThread = Type.Object({
  thread_id: Type.Optional(PathId),
  metadata: Type.Optional(JsonObject),
  if_exists: Type.Optional(word(['raise', 'do_nothing'])),
  supersteps: Type.Optional(
    Type.Array(Type.Object({ updates: Type.Array(Update, { minItems: 1, maxItems: 100 }) }), { maxItems: 100 }),
  ),
  ttl,
});

export const UpdateThread = Type.Object({ metadata: Type.Optional(JsonObject), ttl });
export const ThreadQuery = Type.Object({ include: Type.Optional(texts(8)) });

export const PruneThreads = Type.Object({
  thread_ids: Type.Array(PathId, { minItems: 1, maxItems: 100 }),
  strategy: Type.Optional(word(['delete', 'keep_latest'])),
});

const threadStatuses = ['idle', 'busy', 'interrupted', 'error'] as const;

const filter = {
  metadata: Type.Optional(JsonObject),
  values: Type.Optional(JsonObject),
  status: Type.Optional(word(threadStatuses)),
};
export const CountThreads = Type.Object(filter);
/** What a search may select of a thread. */
export const threadFields = [
  ...(['thread_id', 'created_at', 'updated_at', 'state_updated_at', 'metadata', 'config'] as const),
  ...(['status', 'values', 'interrupts'] as const),
] as const;

export const SearchThreads = Type.Object({
  ...filter,
  ...paging,
  ids: Type.Optional(Type.Array(PathId, { maxItems: mostItems })),
  sort_by: Type.Optional(word(['thread_id', 'status', 'created_at', 'updated_at', 'state_updated_at'])),
  sort_order: sortOrder,
  select: selectOf(threadFields),
  extract: Type.Optional(
    Type.Unsafe<Readonly<Record<string, string>>>({
      type: 'object',
      maxProperties: 10,
      additionalProperties: { type: 'string', maxLength: 256 },
    }),
  ),
});
export type ThreadFilterInput = Static<typeof CountThreads> & Pick<Static<typeof SearchThreads>, 'ids'>;

export const StateQuery = Type.Object({
  subgraphs: Type.Optional(Type.String()),
  select: Type.Optional(texts(32)),
});

const Checkpoint = Type.Object({
  checkpoint_id: Type.Optional(Type.String({ maxLength: 256 })),
  checkpoint_ns: Type.Optional(Type.String({ maxLength: 1024 })),
});

export const StateAtCheckpoint = Type.Object({
  checkpoint: Checkpoint,
  subgraphs: Type.Optional(Type.Boolean()),
  select: Type.Optional(texts(32)),
});

export const UpdateState = Type.Object({
  values: Type.Optional(Json),
  checkpoint: Type.Optional(Checkpoint),
  checkpoint_id: Type.Optional(Type.String({ maxLength: 256 })),
  as_node: Type.Optional(Type.String({ maxLength: 256 })),
});

export const History = Type.Object({
  limit: paging.limit,
  before: Type.Optional(
    Type.Unsafe<
      string | { readonly configurable?: { readonly checkpoint_id?: unknown }; readonly checkpoint_id?: unknown }
    >({
      type: ['string', 'object'],
    }),
  ),
  metadata: Type.Optional(JsonObject),
  checkpoint: Type.Optional(Checkpoint),
  select: Type.Optional(texts(32)),
});

export const HistoryQuery = Type.Object({
  limit: paging.limit,
  before: Type.Optional(Type.String({ maxLength: 256 })),
});
