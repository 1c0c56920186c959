import type { Static } from 'typebox';
import { Type } from '../../common/builders.ts';
import { JsonObject, paging, PathId, selectOf, sortOrder, word } from './common.ts';

export const AssistantParams = Type.Object({ assistant_id: PathId });
export const NamespaceParams = Type.Object({ assistant_id: PathId, namespace: PathId });

const content = {
  graph_id: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  config: Type.Optional(JsonObject),
  context: Type.Optional(JsonObject),
  metadata: Type.Optional(JsonObject),
  name: Type.Optional(Type.String({ maxLength: 256 })),
  description: Type.Optional(Type.String({ maxLength: 4096 })),
};

export const CreateAssistant = Type.Object({
  ...content,
  graph_id: Type.String({ minLength: 1, maxLength: 256 }),
  assistant_id: Type.Optional(PathId),
  if_exists: Type.Optional(word(['raise', 'do_nothing'])),
});

export const UpdateAssistant = Type.Object(content);
export type AssistantInput = Static<typeof UpdateAssistant>;

export const DeleteAssistant = Type.Object({ delete_threads: Type.Optional(word(['true', 'false'])) });

const filter = {
  graph_id: Type.Optional(Type.String({ maxLength: 256 })),
  name: Type.Optional(Type.String({ maxLength: 256 })),
  metadata: Type.Optional(JsonObject),
};
export const CountAssistants = Type.Object(filter);
export type AssistantFilter = Static<typeof CountAssistants>;

export const SearchAssistants = Type.Object({
  ...filter,
  ...paging,
  sort_by: Type.Optional(word(['assistant_id', 'created_at', 'updated_at', 'name', 'graph_id'])),
  sort_order: sortOrder,
  select: selectOf([
    ...(['assistant_id', 'graph_id', 'name', 'description', 'config', 'context', 'created_at', 'updated_at'] as const),
    ...(['metadata', 'version'] as const),
  ]),
});

export const SearchVersions = Type.Object({ ...paging, metadata: Type.Optional(JsonObject) });
export const SetLatest = Type.Object({ version: Type.Integer({ minimum: 1, maximum: 999_999_999 }) });
export const SubgraphsQuery = Type.Object({ recurse: Type.Optional(Type.String()) });

export const GraphQuery = Type.Object({ xray: Type.Optional(Type.String()) });
