import { notFound } from '@agent-workflow/kit/errors';
import { idText } from '@agent-workflow/protos/message';
import {
  assistantOf,
  createAssistant as create,
  deleteAssistant as remove,
  getAssistant as get,
  getAssistantVersion as getVersion,
  listAssistants as list,
  listAssistantVersions as listVersions,
  setAssistantVersion as setVersion,
  updateAssistant as update,
  type Assistant,
  type AssistantContent,
  type AssistantVersion,
} from '../../../assistants/index.ts';
import { invalidAt } from '../../../http/fields.ts';
import { jsonBytes } from '../../../http/json.ts';
import * as examples from '../examples/assistants.ts';
import * as schemas from '../schemas/assistants.ts';
import { Done, maxLimit } from '../schemas/common.ts';
import { tooLarge } from '../../common/bounded.ts';
import { datedId } from '../../common/dated-id.ts';
import { endpoint } from './common/endpoint.ts';
import { metadataTest } from '../../common/metadata-filter.ts';
import { agentOf } from '../../common/named-agent.ts';
import { shownItems } from '../../common/shown-items.ts';
import { readOnlyByService } from '../../common/run-config.ts';

interface Given {
  readonly agent?: unknown;
  readonly name?: string;
  readonly description?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly context?: Readonly<Record<string, unknown>>;
}

/** The bytes of an assistant as JSON. The record takes some more. */
const maxBytes = 60 * 1024;
const maxIdBytes = 240;

const parts = ['metadata', 'config', 'context'] as const;

/** What a request gives of an assistant. @throws Invalid naming the field. */
function contentOf(given: Given): Partial<AssistantContent> {
  const { name, description, metadata, config, context } = given;
  for (const field of Object.keys(config ?? {}))
    if (readOnlyByService(field))
      throw invalidAt(
        ['body', 'config', field],
        'is read from the config of a run, and cannot be stored',
        'value_error',
      );
  const content = {
    ...agentOf(given),
    ...(name !== undefined && { name: name.toWellFormed() }),
    ...(description !== undefined && { description: description.toWellFormed() }),
    ...(metadata && { metadata }),
    ...(config && { config }),
    ...(context && { context }),
  };
  refuseLarge(content);
  return content;
}

/** Names the largest part of a content that is too large. */
function refuseLarge(content: Partial<AssistantContent>): void {
  const bytes = jsonBytes(content).length;
  if (bytes <= maxBytes) return;
  const sizes = parts.map((part) => ({ part, bytes: content[part] ? jsonBytes(content[part]).length : 0 }));
  const { part = 'config' } = sizes.toSorted((a, b) => b.bytes - a.bytes)[0] ?? {};
  throw tooLarge(['body', part], bytes, maxBytes);
}

const shownContent = ({
  agent = null,
  name = null,
  description = null,
  metadata,
  config,
  context,
}: Omit<AssistantContent, 'agent' | 'name' | 'description'> & {
  readonly agent?: string | null;
  readonly name?: string | null;
  readonly description?: string | null;
}): object => ({ agent, name, description, metadata, config, context });

const shown = (assistant: Assistant): object => ({
  assistant_id: assistant.id,
  version: assistant.version,
  newest_version: assistant.newestVersion,
  ...shownContent(assistant),
  created_at: new Date(assistant.createdAt).toISOString(),
  updated_at: new Date(assistant.updatedAt).toISOString(),
});

const shownVersion = (id: string, version: AssistantVersion): object => ({
  assistant_id: id,
  version: version.version,
  ...shownContent(version),
  created_at: new Date(version.madeAt).toISOString(),
});

const read = { resource: 'assistants', action: 'read' } as const;
const write = { resource: 'assistants', action: 'write' } as const;

export const createAssistant = endpoint({
  name: 'createAssistant',
  tag: 'assistants',
  summary: 'Make an assistant',
  description:
    'Makes an assistant: an agent with a config, a context, a name and metadata, which runs name by `config.assistant_id`. An owner has at most 1,000. 409 when its id is taken.',
  example: examples.createAssistant,
  method: 'POST',
  path: '/v1/assistants',
  access: write,
  input: schemas.CreateAssistant,
  reply: schemas.Assistant,
  handle: async ({ input, owner, newId, at, idempotency: { onceKey }, call }, { threads }) => {
    const { assistant_id: named } = input;
    const id = named === undefined ? datedId(newId('assistant'), at) : idText(named);
    const bytes = Buffer.byteLength(id);
    if (bytes > maxIdBytes) throw tooLarge(['body', 'assistant_id'], bytes, maxIdBytes);
    const content = { metadata: {}, config: {}, context: {}, ...contentOf(input) };
    return JSON.stringify(shown(await create(threads, { owner, id }, { content, by: onceKey, call })));
  },
});

export const listAssistants = endpoint({
  name: 'listAssistants',
  tag: 'assistants',
  summary: 'List assistants',
  description:
    'The assistants of the owner in pages. A page reads `limit` assistants and holds those that meet every condition: it may hold fewer, or none, with `has_more: true`.',
  example: examples.listAssistants,
  method: 'GET',
  path: '/v1/assistants',
  access: read,
  input: schemas.AssistantsQuery,
  reply: schemas.AssistantList,
  handle: async ({ input, owner, call }, { threads, log }) => {
    const { agent, cursor } = input;
    const hasMetadata = metadataTest(input.metadata, ['query', 'metadata']);
    const name = input.name?.toLowerCase();
    const page = { owner, limit: Math.min(input.limit, maxLimit), ...(cursor !== undefined && { cursor }) };
    const { rows, cursor: next } = await list(threads, page, call);
    const matches = (assistant: Assistant): boolean =>
      (agent === undefined || assistant.agent === agent) &&
      (name === undefined || assistant.name?.toLowerCase().includes(name) === true) &&
      hasMetadata(assistant.metadata);
    const items = shownItems(rows, {
      kind: 'assistant',
      show: (row) => {
        const assistant = assistantOf(row);
        return assistant && matches(assistant) ? shown(assistant) : undefined;
      },
      idsOf: ({ id }) => ({ assistantId: id }),
      log,
    });
    const assistants = items.filter((item) => item !== undefined);
    return JSON.stringify({ assistants, has_more: next !== undefined, cursor: next });
  },
});

export const getAssistant = endpoint({
  name: 'getAssistant',
  tag: 'assistants',
  summary: 'Get an assistant',
  description: 'An assistant with the version that runs have.',
  example: examples.getAssistant,
  method: 'GET',
  path: '/v1/assistants/{assistant_id}',
  access: read,
  params: schemas.AssistantParams,
  reply: schemas.Assistant,
  handle: async ({ params, owner, call }, { threads }) =>
    JSON.stringify(shown(await get(threads, { owner, id: params.assistant_id }, call))),
});

export const updateAssistant = endpoint({
  name: 'updateAssistant',
  tag: 'assistants',
  summary: 'Make a new version of an assistant',
  description:
    'Makes a version with the fields given in place of those of the version that runs have; runs that are accepted from now on have it. Runs that were accepted before keep what they have. The newest 100 versions are kept.',
  example: examples.updateAssistant,
  method: 'PATCH',
  path: '/v1/assistants/{assistant_id}',
  access: write,
  params: schemas.AssistantParams,
  input: schemas.UpdateAssistant,
  reply: schemas.Assistant,
  handle: async ({ params, input, owner, idempotency: { onceKey }, call }, { threads }) => {
    const key = { owner, id: params.assistant_id };
    const change = contentOf(input);
    const edit = { change: () => change, check: refuseLarge, expected: input.version, by: onceKey, call };
    return JSON.stringify(shown(await update(threads, key, edit)));
  },
});

export const deleteAssistant = endpoint({
  name: 'deleteAssistant',
  tag: 'assistants',
  summary: 'Delete an assistant',
  description:
    'Deletes an assistant with its versions, for good. Its runs and threads stay; runs that were accepted go on.',
  example: examples.deleteAssistant,
  method: 'DELETE',
  path: '/v1/assistants/{assistant_id}',
  access: { resource: 'assistants', action: 'delete' },
  params: schemas.AssistantParams,
  reply: Done,
  handle: async ({ params, owner, call }, { threads }) => {
    await remove(threads, { owner, id: params.assistant_id }, call);
    return '{"success":true}';
  },
});

export const listAssistantVersions = endpoint({
  name: 'listAssistantVersions',
  tag: 'assistants',
  summary: 'List the versions of an assistant, newest first',
  description: 'The versions of an assistant that are kept, the newest first, in pages.',
  example: examples.listAssistantVersions,
  method: 'GET',
  path: '/v1/assistants/{assistant_id}/versions',
  access: read,
  params: schemas.AssistantParams,
  input: schemas.AssistantVersionsQuery,
  reply: schemas.AssistantVersionList,
  handle: async ({ params, input, owner, call }, { threads }) => {
    const id = params.assistant_id;
    const before = input.cursor === undefined ? undefined : readCursor(input.cursor);
    const limit = Math.min(input.limit, maxVersionsPage);
    const { versions, hasMore } = await listVersions(threads, { owner, id }, { before, limit, call });
    const last = versions.at(-1)?.version;
    return JSON.stringify({
      versions: versions.map((version) => shownVersion(id, version)),
      has_more: hasMore,
      ...(hasMore && last !== undefined && { cursor: String(last) }),
    });
  },
});

/** Versions of 60 KiB that fit a reply of 4 MiB. */
const maxVersionsPage = 50;

const isVersion = /^[1-9]\d{0,8}$/;

function readCursor(cursor: string): number {
  if (!isVersion.test(cursor)) throw invalidAt(['query', 'cursor'], 'is not a cursor that this list gave', 'cursor');
  return Number(cursor);
}

export const getAssistantVersion = endpoint({
  name: 'getAssistantVersion',
  tag: 'assistants',
  summary: 'Get a version of an assistant',
  description: 'One version of an assistant, as it was made. 404 when it is not kept.',
  example: examples.getAssistantVersion,
  method: 'GET',
  path: '/v1/assistants/{assistant_id}/versions/{version}',
  access: read,
  params: schemas.AssistantVersionParams,
  reply: schemas.AssistantVersion,
  handle: async ({ params: { assistant_id: id, version }, owner, call }, { threads }) => {
    if (!isVersion.test(version)) throw notFound(`assistant "${id}" has no version "${version}"`);
    return JSON.stringify(shownVersion(id, await getVersion(threads, { owner, id }, Number(version), call)));
  },
});

export const setAssistantVersion = endpoint({
  name: 'setAssistantVersion',
  tag: 'assistants',
  summary: 'Let runs have another version of an assistant',
  description:
    'Lets runs that are accepted from now on have another version that is kept, as one before the last. A later change continues from it, with the next number.',
  example: examples.setAssistantVersion,
  method: 'PUT',
  path: '/v1/assistants/{assistant_id}/version',
  access: write,
  params: schemas.AssistantParams,
  input: schemas.SetAssistantVersion,
  reply: schemas.Assistant,
  handle: async ({ params, input, owner, idempotency: { onceKey }, call }, { threads }) => {
    const key = { owner, id: params.assistant_id };
    return JSON.stringify(shown(await setVersion(threads, key, { version: input.version, by: onceKey, call })));
  },
});
