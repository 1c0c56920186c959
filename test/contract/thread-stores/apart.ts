import type { AgentRow, DefinitionKey } from '@agent-workflow/threads/ports/agents';
import type { FileKey, FileRow } from '@agent-workflow/threads/ports/files';
import type { ThreadKey } from '@agent-workflow/threads/ports/record';
import type { ResourceRow } from '@agent-workflow/threads/ports/resources';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';

/** More than all tests together leave behind for the lists that go across owners. */
const everything = 100_000;

/**
 * One place of a store that many tests share: its owners are nobody else's, and the lists across owners are its own part of them.
 */
export function storeApart(store: ThreadStore, place: string): ThreadStore {
  const prefix = `${place}/`;
  const at = (key: ThreadKey): ThreadKey => ({ ...key, owner: prefix + key.owner });
  const ofFile = <T extends FileKey>(file: T): T => ({ ...file, owner: prefix + file.owner });
  const ofResource = <T extends { readonly owner: string }>(of: T): T => ({ ...of, owner: prefix + of.owner });
  const resourcesOf = (rows: readonly (ResourceRow | undefined)[]): ResourceRow[] =>
    ours(rows.filter((row) => row !== undefined));
  const ofAgent = <T extends DefinitionKey>(key: T): T => ({ ...key, agent: prefix + key.agent });
  const withoutPrefix = (row: AgentRow | undefined): AgentRow | undefined =>
    row?.name.startsWith(prefix) ? { ...row, name: row.name.slice(prefix.length) } : undefined;
  const oursOnly = (file: FileRow | undefined): FileRow | undefined => file && ours([file])[0];
  const ours = <T extends { readonly owner: string }>(items: readonly T[]): T[] =>
    items
      .filter(({ owner }) => owner.startsWith(prefix))
      .map((item) => ({ ...item, owner: item.owner.slice(prefix.length) }));
  return {
    change: (key, reads, decide) =>
      store.change(at(key), reads, (snapshot) => {
        const { change, ...decision } = decide(snapshot);
        if (!change?.resources) return { ...decision, ...(change && { change }) };
        return { ...decision, change: { ...change, resources: change.resources.map(ofResource) } };
      }),
    getHead: (key) => store.getHead(at(key)),
    getState: (key, maxBytes) => store.getState(at(key), maxBytes),
    getFields: (key, names) => store.getFields(at(key), names),
    getRun: (owner, runId) => store.getRun(prefix + owner, runId),
    listRuns: (key, page) => store.listRuns(at(key), page),
    listOwnRuns: (owner, page) => store.listOwnRuns(prefix + owner, page),
    listAllRuns: async ({ limit, after }) => {
      const { runs } = await store.listAllRuns({ limit: everything, after });
      const part = ours(runs).slice(0, limit);
      const last = part.at(-1);
      return { runs: part, ...(last && part.length === limit && { next: last }) };
    },
    listThreads: (owner, page) => store.listThreads(prefix + owner, page),
    listMessages: (key, page) => store.listMessages(at(key), page),
    listContext: (key, page) => store.listContext(at(key), page),
    getEntries: (key, positions) => store.getEntries(at(key), positions),
    listCheckpoints: (key, page) => store.listCheckpoints(at(key), page),
    listUndos: (key, page) => store.listUndos(at(key), page),
    listTraces: (key, range) => store.listTraces(at(key), range),
    getMessage: (key, messageId) => store.getMessage(at(key), messageId),
    listOpenRuns: async ({ limit, ...page }) =>
      ours(await store.listOpenRuns({ limit: everything, ...page })).slice(0, limit),
    listSleepingRuns: async ({ limit, ...page }) =>
      ours(await store.listSleepingRuns({ limit: everything, ...page })).slice(0, limit),
    listIdle: async (times, limit) => ours(await store.listIdle(times, everything)).slice(0, limit),
    listDeleting: async (limit) => ours(await store.listDeleting(everything)).slice(0, limit),
    beginRequest: (owner, key, record) => store.beginRequest(prefix + owner, key, record),
    endRequest: (owner, key, reply) => store.endRequest(prefix + owner, key, reply),
    expireRequests: (time, limit) => store.expireRequests(time, limit),
    expireCheckpoints: (time, limit) => store.expireCheckpoints(time, limit),
    purge: (key) => store.purge(at(key)),
    getFile: async (key) => oursOnly(await store.getFile(ofFile(key))),
    changeFile: (key, reads, decide) =>
      store.changeFile(ofFile(key), reads, (snapshot) => {
        const { change, reply } = decide({ ...snapshot, file: oursOnly(snapshot.file) });
        if (!change) return { reply };
        return { change: 'put' in change ? { put: ofFile(change.put) } : change, reply };
      }),
    listOwnFiles: async (owner, page) => ours(await store.listOwnFiles(prefix + owner, page)),
    listDueFiles: async ({ limit, ...page }) =>
      ours(await store.listDueFiles({ limit: everything, ...page })).slice(0, limit),
    putFileNote: (key, note) => store.putFileNote(ofFile(key), note),
    dropFileNote: (key, threadId) => store.dropFileNote(ofFile(key), threadId),
    listFileNotes: (key, page) => store.listFileNotes(ofFile(key), page),
    listFilesOf: (key, page) => store.listFilesOf(at(key), page),
    getAgent: async (name) => withoutPrefix(await store.getAgent(prefix + name)),
    listAgents: async () => (await store.listAgents()).flatMap((row) => withoutPrefix(row) ?? []),
    listRoutings: async () =>
      new Map(
        [...(await store.listRoutings())].flatMap(([name, routing]) =>
          name.startsWith(prefix) ? [[name.slice(prefix.length), routing]] : [],
        ),
      ),
    putAgent: (row) => store.putAgent({ ...row, name: prefix + row.name }),
    getDefinition: (key) => store.getDefinition(ofAgent(key)),
    putDefinition: (key, definition) => store.putDefinition(ofAgent(key), definition),
    dropDefinition: (key) => store.dropDefinition(ofAgent(key)),
    now: store.now,
    getResource: async (key) => resourcesOf([await store.getResource(ofResource(key))])[0],
    putResource: (write) => store.putResource(ofResource(write)),
    deleteResource: (key, version) => store.deleteResource(ofResource(key), version),
    listResources: async (of, page) => resourcesOf(await store.listResources(ofResource(of), page)),
    listResourceMarks: (of, page) => store.listResourceMarks(ofResource(of), page),
    countResources: (of, atMost) => store.countResources(ofResource(of), atMost),
    listDueResources: async (kind, { limit, after, until }) =>
      ours(await store.listDueResources(kind, { until, limit: everything, after: after && ofResource(after) })).slice(
        0,
        limit,
      ),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
