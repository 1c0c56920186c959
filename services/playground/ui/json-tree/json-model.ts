import { signal, type ReadonlySignal } from '@preact/signals';
import { inSlices } from '../slices.ts';
import type { Path } from '../path-text.ts';
import { readMembers } from './json-members.ts';
import { findPlace } from './json-place.ts';
import {
  closeRow,
  createRows,
  memberAt,
  openRow,
  placeOf,
  showAsFar,
  valueOf,
  type JsonRow,
  type OpenMembers,
} from './json-rows.ts';
import { findIn, type JsonHits } from './json-search.ts';
import { holdsMembers, wholeOf, type JsonPlace } from './json-text.ts';
import { writeJson } from './json-writer.ts';

/** A value, and the JSON text that it was read from with its place in it, where that is known: it says more than the value can. */
interface JsonSource {
  readonly value?: unknown;
  readonly text?: string | undefined;
  readonly at?: Path;
}

/** What is read of a JSON text so far. */
export interface ReadJson {
  readonly text: string;
  readonly place: JsonPlace;
  /** Absent for a text, a number, a word, and for what has no members. */
  readonly root?: OpenMembers;
}

/** A search and how far it has come. */
interface JsonSearch {
  readonly wanted: string;
  readonly hits?: JsonHits;
  /** Which of the hits is shown, from 0. */
  readonly at: number;
}

/** A JSON text in a tree: what is open, what is found, and the row that the keys are at. What takes long is done in slices. */
export interface JsonModel {
  readonly read: ReadonlySignal<ReadJson | undefined>;
  readonly search: ReadonlySignal<JsonSearch>;
  readonly active: ReadonlySignal<number>;
  /** Raised whenever rows have come or gone. */
  readonly version: ReadonlySignal<number>;
  readonly setActive: (index: number) => void;
  readonly toggle: (row: JsonRow, isOpen: boolean) => void;
  /** Shows more members, of which a row stands for those that are not shown. */
  readonly showMore: (row: JsonRow) => void;
  readonly find: (wanted: string) => void;
  /** Goes to the next hit, or by `-1` to the one before; behind the last is the first. */
  readonly goOn: (by: 1 | -1) => void;
  readonly dispose: () => void;
}

/** A text of so many characters is unfolded at once. */
const maxUnfolded = 500;

export function createJsonModel(source: JsonSource): JsonModel {
  const read = signal<ReadJson | undefined>(undefined);
  const search = signal<JsonSearch>({ wanted: '', at: 0 });
  const active = signal(0);
  const version = signal(0);
  const life = new AbortController();
  let searching = new AbortController();
  const changed = (): void => {
    version.value++;
  };
  inSlices(readSource(source), (done) => (read.value = done), life.signal);

  const toggle: JsonModel['toggle'] = (row, isOpen) => {
    const now = read.peek();
    if (!now || row.isRest || !holdsMembers(now.text, valueOf(row))) return;
    if (!isOpen) {
      closeRow(row);
      changed();
      return;
    }
    inSlices(
      readMembers(now.text, valueOf(row).start),
      (members) => {
        openRow(row, members);
        changed();
      },
      life.signal,
    );
  };
  const showHit = (at: number): void => {
    const { hits } = search.peek();
    const now = read.peek();
    const offset = hits?.at[at];
    if (offset === undefined || !now?.root) return;
    search.value = { ...search.peek(), at };
    inSlices(
      locate(now.text, now.root, offset),
      ({ parent, index }) => {
        active.value = placeOf(parent, index);
        changed();
      },
      searching.signal,
    );
  };
  const find = (wanted: string): void => {
    searching.abort();
    searching = new AbortController();
    search.value = { wanted, at: 0 };
    const now = read.peek();
    if (!now || wanted === '') return;
    const onFound = (hits: JsonHits): void => {
      search.value = { wanted, hits, at: 0 };
      showHit(0);
    };
    inSlices(findIn(now.text, wanted), onFound, searching.signal);
  };
  const goOn = (by: 1 | -1): void => {
    const { hits, at } = search.peek();
    const count = hits?.at.length ?? 0;
    if (count > 0) showHit((at + by + count) % count);
  };
  return {
    ...{ read, search, active, version, toggle, find, goOn },
    setActive: (index) => (active.value = index),
    showMore: ({ parent, index }) => {
      showAsFar(parent, index);
      changed();
    },
    dispose: () => {
      life.abort();
      searching.abort();
    },
  };
}

function* readSource(source: JsonSource): Generator<undefined, ReadJson> {
  const text = (yield* writtenAt(source)) ?? (yield* writeJson(source.value));
  const place = wholeOf(text);
  if (!holdsMembers(text, place)) return { text, place };
  const members = yield* readMembers(text, place.start);
  if (members.count === 0) return { text, place };
  const root = createRows(place, members);
  if (text.length <= maxUnfolded) yield* unfold(text, root);
  else if (members.count === 1) yield* unfoldOne(text, root, 0);
  return { text, place, root };
}

function* writtenAt({ text, at = [] }: JsonSource): Generator<undefined, string | undefined> {
  if (text === undefined || at.length === 0) return text;
  const place = yield* findPlace(text, at);
  return place && text.slice(place.start, place.end);
}

function* unfold(text: string, opened: OpenMembers): Generator<undefined, void> {
  for (let index = 0; index < opened.members.count; index++) {
    const inner = yield* unfoldOne(text, opened, index);
    if (inner) yield* unfold(text, inner);
  }
}

function* unfoldOne(text: string, parent: OpenMembers, index: number): Generator<undefined, OpenMembers | undefined> {
  const value = valueOf({ parent, index });
  if (!holdsMembers(text, value)) return undefined;
  const members = yield* readMembers(text, value.start);
  return members.count === 0 ? undefined : openRow({ parent, index }, members);
}

/** The member that a place of the text belongs to. What holds it is opened. */
function* locate(
  text: string,
  root: OpenMembers,
  offset: number,
): Generator<undefined, { readonly parent: OpenMembers; readonly index: number }> {
  for (let parent = root; ;) {
    const index = Math.max(0, memberAt(parent.members, offset));
    if (index >= parent.shown) showAsFar(parent, index);
    const value = valueOf({ parent, index });
    if (!holdsMembers(text, value) || offset <= value.start) return { parent, index };
    const known = parent.open.find((child) => child.index === index);
    const opened = known ?? openRow({ parent, index }, yield* readMembers(text, value.start));
    if (!opened) return { parent, index };
    parent = opened;
  }
}
