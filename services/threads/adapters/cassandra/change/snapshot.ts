import { types } from 'cassandra-driver';
import type { Reads, Snapshot, UndoSink } from '../../../ports/changes.ts';
import type { PlacedEntry, RunRecord, ThreadKey, ToolCallRecord } from '../../../ports/record.ts';
import type { Row, Session, Statement } from '../client/client.ts';
import { chunksOf, pagesOf, readAt, mapConcurrently } from '../rows/log.ts';
import { contextPositions, toolCallId } from './plan.ts';
import { absent, fromBlob, long, nothing, toResult, toRun, toSeen, toUndo, type Seen } from '../rows/rows.ts';
import { kinds } from '../rows/schema.ts';
import { within } from '../rows/ranges.ts';

/** What a decision is made from, and the head that its change is to replace. */
export interface Sight {
  readonly seen: Seen;
  readonly snapshot: Snapshot;
  /** Whether all of it is known to be of one moment. Otherwise a change may be tried, and nothing else be concluded. */
  readonly isSteady: boolean;
}

/**
 * Reads head and named rows in one statement, which shows one moment; what can only be named once the head is known follows.
 * `isSerial` also completes a conditional write that was left half done, so that what follows cannot show less than the head.
 */
export async function readSight(session: Session, key: ThreadKey, reads: Reads, isSerial: boolean): Promise<Sight> {
  const names = namesOf(reads);
  const [first = [], ...others] = chunksOf(names, namesAtOnce);
  const rows = [...(await readNamed(session, key, [headName, ...first], isSerial))];
  const head = rows.find((row) => row['kind'] === kinds.head);
  const seen = toSeen(head);
  if (!seen.head) return { seen, snapshot: { ...nothingThere }, isSteady: true };

  const watch = createWatch(seen.stamp);
  const more = await mapConcurrently(others, async (some) => watch.saw(await readNamed(session, key, some, false)));
  const snapshot = await complete(session, { key, reads, seen, rows: [...rows, ...more.flat()], watch });
  const isSteady = watch.isSteady() || (isSerial && (await stampOf(session, key)) === seen.stamp);
  return { seen, snapshot, isSteady };
}

/** The head alone, also while a conditional write is under way. */
export async function readHead(session: Session, key: ThreadKey, isSerial = false): Promise<Seen> {
  const statement = { cql: selectHead, params: [key.owner, key.threadId] };
  const [row] = await (isSerial ? session.readSerial(statement) : session.read(statement));
  return toSeen(row);
}

/** Whether rows read beside a head are of the same moment: each row has the stamp of its head. Without rows it is unknown. */
interface Watch {
  readonly saw: (rows: readonly Row[]) => readonly Row[];
  readonly isSteady: () => boolean;
  readonly hasSeen: () => boolean;
}

export function createWatch(stamp: string | undefined): Watch {
  let isSteady = true;
  let hasSeen = false;
  return {
    saw: (rows) => {
      hasSeen = true;
      if (rows.length === 0 || rows.some((row) => String(row['at']) !== stamp)) isSteady = false;
      return rows;
    },
    isSteady: () => isSteady,
    hasSeen: () => hasSeen,
  };
}

const nothingThere: Snapshot = {
  head: undefined,
  runs: new Map(),
  entries: new Map(),
  fields: {},
  context: [],
};

/** What is taken for granted of a thread whose id has only just been made: the condition of what is written finds out. */
export const nothingSeen: Sight = { seen: absent, snapshot: nothingThere, isSteady: false };

type Name = readonly [kind: number, n: number, id: string];

export const headName: Name = [kinds.head, 0, ''];

export const nameOfField = (name: string): Name => [kinds.field, 0, name];

export const toTuple = ([kind, n, id]: Name): types.Tuple => new types.Tuple(kind, long(n), id);

/** Rows that one statement names at most, beside the head. */
const namesAtOnce = 200;

const namesOf = ({ runs = [], messages = [], fields = [], toolCall, request }: Reads): Name[] => [
  ...runs.map((id): Name => [kinds.run, 0, id]),
  ...messages.map((id): Name => [kinds.messageId, 0, id]),
  ...(fields === 'all' ? [] : fields.map(nameOfField)),
  ...(toolCall ? [[kinds.toolCall, 0, toolCallId(toolCall)] as const] : []),
  ...(request === undefined ? [] : [[kinds.appliedRequest, 0, request] as const]),
];

const ofThread = 'owner = ? AND thread_id = ?';
const headColumns = 'kind, stamp, past, head, layout, metadata, progress';

const selectHead = `SELECT ${headColumns} FROM thread WHERE ${ofThread} AND kind = ${kinds.head} AND n = 0 AND id = ''`;
const selectStamp = `SELECT stamp FROM thread WHERE ${ofThread} AND kind = ${kinds.head} AND n = 0 AND id = ''`;
const selectNamed = `SELECT at, id, ${headColumns}, field, generation, position, run, options, input, result
  FROM thread WHERE ${ofThread} AND (kind, n, id) IN ?`;

async function readNamed(
  session: Session,
  { owner, threadId }: ThreadKey,
  names: readonly Name[],
  isSerial: boolean,
): Promise<readonly Row[]> {
  const statement: Statement =
    names.length === 1 && names[0] === headName
      ? { cql: selectHead, params: [owner, threadId] }
      : {
          cql: selectNamed,
          params: [owner, threadId, names.map(toTuple)],
        };
  return isSerial ? session.readSerial(statement) : session.read(statement);
}

async function stampOf(session: Session, { owner, threadId }: ThreadKey): Promise<string | undefined> {
  const [row] = await session.read({ cql: selectStamp, params: [owner, threadId] });
  return row && String(row['stamp']);
}

interface Known {
  readonly key: ThreadKey;
  readonly reads: Reads;
  readonly seen: Seen;
  readonly rows: readonly Row[];
  readonly watch: Watch;
}

/** Adds what the head names. */
async function complete(session: Session, known: Known): Promise<Snapshot> {
  const { reads, seen, rows } = known;
  const rowsOf = (kind: number): readonly Row[] => rows.filter((row) => row['kind'] === kind);
  const [others, entries, fields] = await Promise.all([
    readByHead(session, known),
    readNamedEntries(session, known, rowsOf(kinds.messageId)),
    reads.fields === 'all' ? readFields(session, known) : rowsOf(kinds.field),
    reads.undosOfActiveRun && readUndos(session, known, reads.undosOfActiveRun()),
  ]);
  const toolCall = reads.toolCall && toToolCall(reads.toolCall, rowsOf(kinds.toolCall)[0]);
  return {
    head: seen.head,
    runs: new Map([...rowsOf(kinds.run).map(toRun), ...others].map((run) => [run.runId, run])),
    entries,
    fields: toFields(fields, seen.layout?.generation),
    context: reads.context ? contextPositions(seen.layout) : [],
    ...(toolCall ? { toolCall } : {}),
    ...toApplied(rowsOf(kinds.appliedRequest)[0]),
  };
}

const toToolCall = (key: NonNullable<Reads['toolCall']>, row: Row | undefined): ToolCallRecord | undefined =>
  row && { ...key, ...toResult(row) };

const toApplied = (row: Row | undefined): Pick<Snapshot, 'applied'> =>
  row ? { applied: toResult(row).result ?? nothing } : {};

/** Rows of fields as fields: without those that were cleared. */
export const toFields = (rows: readonly Row[], generation: number | undefined): Readonly<Record<string, Uint8Array>> =>
  Object.fromEntries(
    rows
      .filter((row) => row['generation'] === generation && (row['field'] as Buffer).length > 0)
      .map((row) => [row['id'] as string, fromBlob(row['field'])]),
  );

const selectRun = `SELECT at, run, options, input FROM thread WHERE ${ofThread} AND kind = ${kinds.run} AND n = 0 AND id = ?`;

/** The runs that are asked for as those that the head names. */
async function readByHead(session: Session, { key, reads, seen, watch }: Known): Promise<readonly RunRecord[]> {
  const ids = [reads.activeRun && seen.head?.activeRun, reads.interruptedRun && seen.head?.interruptedRun];
  const missing = ids.filter((id) => typeof id === 'string').filter((id) => !reads.runs?.includes(id));
  const rows = await mapConcurrently(missing, async (runId) =>
    watch.saw(await session.read({ cql: selectRun, params: [key.owner, key.threadId, runId] })),
  );
  return rows.flat().map(toRun);
}

/** The position of an id may hold another message by now, or none: only the id of the entry itself decides. */
async function readNamedEntries(
  session: Session,
  { key, seen: { layout }, watch }: Known,
  rows: readonly Row[],
): Promise<ReadonlyMap<string, PlacedEntry>> {
  if (!layout || rows.length === 0) return new Map();
  const places = new Map(rows.map((row) => [row['id'] as string, Number(row['position'])]));
  const entries = await readAt(session, { key, layout, saw: watch.saw }, [...places.values()]);
  return new Map(
    entries
      .filter(({ messageId, position }) => places.get(messageId) === position)
      .map((entry) => [entry.messageId, { ...entry, inContext: within(layout.context, entry.position) }]),
  );
}

const selectFields = `SELECT at, id, field, generation FROM thread WHERE ${ofThread} AND kind = ${kinds.field}`;

async function readFields(session: Session, { key, watch }: Known): Promise<readonly Row[]> {
  return watch.saw(await session.read({ cql: selectFields, params: [key.owner, key.threadId] }));
}

const selectUndos = `SELECT at, n, undo FROM thread WHERE ${ofThread} AND kind = ${kinds.checkpoint} AND n > ?
  ORDER BY kind DESC, n DESC, id DESC`;

/** Each may be as large as what one step changed. */
const undosAtOnce = 16;

async function readUndos(session: Session, { key, seen, watch }: Known, sink: UndoSink): Promise<void> {
  const found = seen.head?.foundVersion;
  if (found === undefined) return;
  const statement = { cql: selectUndos, params: [key.owner, key.threadId, long(found)] };
  for await (const rows of pagesOf(session, statement, { saw: watch.saw, most: undosAtOnce }))
    rows.map(toUndo).forEach(sink.add);
}
