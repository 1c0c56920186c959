import '../../styles/json-tree.css';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { copyText } from '../../session/clipboard.ts';
import { CopyButton } from '../copy-button.tsx';
import { counted, grouped } from '../format.ts';
import type { Path } from '../path-text.ts';
import { Plain } from '../plain.tsx';
import { SaveAll } from '../save-all.tsx';
import { TreeRows } from '../tree/tree-rows.tsx';
import { copiedValueOf, labelOf, maxInRow, pathOf } from './json-label.ts';
import { createJsonModel, type JsonModel, type ReadJson } from './json-model.ts';
import { placeOf, rowAt, valueOf, type JsonRow } from './json-rows.ts';
import { markedParts } from './json-search.ts';
import { kindAt, unquoted } from './json-text.ts';

interface JsonTreeProps {
  readonly label: string;
  readonly value?: unknown;
  /** The JSON text that the value was read from: numbers and fields are shown as they are written there, also those that no value can hold. */
  readonly text?: string | undefined;
  /** Where the value stands in the text. */
  readonly at?: Path;
  /** The way to it, which stands before each way that is copied. */
  readonly path?: Path;
}

const rowHeight = 22;
/** A shorter text needs no search. */
const minSearched = 1500;

/** Any JSON, folded: searchable, of any size, with keys as the ARIA tree has them. V copies the value of a row, P the way to it. */
export function JsonTree({ label, value, text, at = [], path }: JsonTreeProps) {
  const model = useMemo(() => createJsonModel({ value, text, at }), [text, value, at.join()]);
  useEffect(() => () => model.dispose(), [model]);
  const read = model.read.value;
  if (!read) return <p class="hint">Reading …</p>;
  if (!read.root) return <JsonScalar label={label} read={read} />;
  return (
    <div class="json-tree">
      <JsonBar label={label} model={model} read={read} />
      <JsonRows label={label} model={model} read={read} path={path ?? []} />
    </div>
  );
}

/** A text, number or word by itself. */
function JsonScalar({ label, read: { text, place } }: { readonly label: string; readonly read: ReadJson }) {
  const written = text.slice(place.start, place.end);
  const kind = kindAt(text, place.start);
  if (kind === 'string')
    return (
      <div class="json-text" role="region" aria-label={label} tabIndex={0}>
        <Plain text={unquoted(written)} />
      </div>
    );
  return (
    <span role="group" aria-label={label}>
      <code class={`json-${kind}`}>{written.slice(0, maxInRow)}</code>
    </span>
  );
}

interface JsonPartProps {
  readonly label: string;
  readonly model: JsonModel;
  readonly read: ReadJson;
}

/** The search, where there is much to search in, and what can be done with all of it. */
function JsonBar({ label, model, read }: JsonPartProps) {
  const { wanted, hits, at } = model.search.value;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    model.goOn(event.shiftKey ? -1 : 1);
  };
  const count = hits?.at.length ?? 0;
  const isSearched = read.text.length >= minSearched;
  return (
    <div class={`json-bar ${isSearched ? '' : 'is-small'}`}>
      {isSearched && (
        <>
          <input
            type="search"
            aria-label={`Find in ${label}`}
            placeholder="Find"
            value={wanted}
            onInput={(event) => model.find(event.currentTarget.value)}
            onKeyDown={onKeyDown}
          />
          <span class="json-hits" role="status">
            {hits &&
              (count === 0
                ? 'Nothing found'
                : `${grouped(at + 1)} of ${grouped(count)}${hits.isCut ? ' or more' : ''}`)}
          </span>
          {count > 1 && (
            <>
              <button type="button" class="quiet" aria-label="Previous found" onClick={() => model.goOn(-1)}>
                ↑
              </button>
              <button type="button" class="quiet" aria-label="Next found" onClick={() => model.goOn(1)}>
                ↓
              </button>
            </>
          )}
        </>
      )}
      <span class="json-bar-end">
        <CopyButton isSign name={`Copy ${label}`} text={() => read.text} />
        {read.text.length >= maxCopied && <SaveAll name="value.json" content={() => read.text} />}
      </span>
    </div>
  );
}

/** A clipboard is no place for more. */
const maxCopied = 1024 * 1024;

function JsonRows({ label, model, read, path }: JsonPartProps & { readonly path: Path }) {
  const version = model.version.value;
  const active = model.active.value;
  const { wanted } = model.search.value;
  const [opened, setOpened] = useState<JsonRow | undefined>(undefined);
  const { root, text } = read;
  if (!root) return null;
  const rowOf = (index: number): JsonRow => rowAt(root, index);
  const parentOf = (index: number): number | undefined => {
    const { parent } = rowOf(index);
    return parent.parent && placeOf(parent.parent, parent.index);
  };
  const toggle = (index: number, isOpen: boolean): void => model.toggle(rowOf(index), isOpen);
  const press = (index: number, drawn: Element | null): void => {
    const row = rowOf(index);
    if (row.isRest) model.showMore(row);
    else if (labelOf(text, row).isHolder) model.toggle(row, !row.opened);
    else if (opened && isSame(opened, row)) setOpened(undefined);
    else if (labelOf(text, row).isCut || isClipped(drawn)) setOpened(row);
  };
  const onKey = ({ key }: KeyboardEvent, index: number): boolean => {
    const row = rowOf(index);
    if ((key !== 'v' && key !== 'p') || row.isRest) return false;
    void copyText(key === 'v' ? copiedValueOf(text, row) : pathOf(text, row, path));
    return true;
  };
  return (
    <>
      <TreeRows
        class="json-rows"
        label={label}
        count={root.rows}
        height={rowHeight}
        active={Math.min(active, root.rows - 1)}
        reveal={version}
        rowAt={(index) => {
          const row = rowOf(index);
          const isFolded = !row.isRest && labelOf(text, row).isHolder;
          return { key: keyOf(row), level: row.level, isOpen: isFolded ? row.opened !== undefined : undefined };
        }}
        parentOf={parentOf}
        onActive={model.setActive}
        onToggle={toggle}
        onPress={press}
        onKey={onKey}
        render={(index, isActive) => (
          <Row text={text} row={rowOf(index)} path={path} wanted={wanted} isActive={isActive} />
        )}
      />
      {opened && <OpenText text={text} row={opened} path={path} onClose={() => setOpened(undefined)} />}
    </>
  );
}

/** Whether the value of a row has no room in it. */
function isClipped(drawn: Element | null): boolean {
  const value = drawn?.querySelector('.json-value');
  return !!value && value.scrollWidth > value.clientWidth;
}

const isSame = (one: JsonRow, other: JsonRow): boolean => one.parent === other.parent && one.index === other.index;
const keyOf = ({ parent, index, isRest }: JsonRow): string =>
  isRest ? `rest ${String(parent.place.start)}` : String(parent.members.starts[index]);

interface RowProps {
  readonly text: string;
  readonly row: JsonRow;
  readonly path: Path;
  readonly wanted: string;
  readonly isActive: boolean;
}

function Row({ text, row, path, wanted, isActive }: RowProps) {
  const indent = { paddingInlineStart: `min(${String((row.level - 1) * 16)}px, 50%)` };
  if (row.isRest)
    return (
      <span class="json-row json-rest" style={indent}>
        {counted(row.parent.members.count - row.parent.shown, 'more', 'more')}
      </span>
    );
  const label = labelOf(text, row);
  return (
    <span class="json-row" style={indent}>
      <span class={label.isHolder ? 'twisty' : 'no-twisty'} aria-hidden="true" />
      <bdi class={label.isItem ? 'json-item' : 'json-name'}>
        <Marked text={label.name} wanted={label.isItem ? '' : wanted} />
        {label.isItem ? '' : ':'}
      </bdi>{' '}
      <bdi class={`json-value json-${label.kind} ${row.opened ? 'is-open' : ''}`}>
        <Marked text={label.text} wanted={label.isHolder ? '' : wanted} />
        {label.isCut && <span class="json-cut"> … {counted(lengthOf(row), 'character')}</span>}
      </bdi>
      {isActive && (
        <span class="json-acts">
          <CopyButton name={`Copy the path of ${label.name}`} text={() => pathOf(text, row, path)} tabIndex={-1}>
            Path
          </CopyButton>
          <CopyButton name={`Copy the value of ${label.name}`} text={() => copiedValueOf(text, row)} tabIndex={-1}>
            Value
          </CopyButton>
        </span>
      )}
    </span>
  );
}

function lengthOf(row: JsonRow): number {
  const { start, end } = valueOf(row);
  return end - start;
}

function Marked({ text, wanted }: { readonly text: string; readonly wanted: string }) {
  if (wanted === '') return <>{text}</>;
  return (
    <>{markedParts(text, wanted).map((part, at) => (part.isFound ? <mark key={at}>{part.text}</mark> : part.text))}</>
  );
}

interface OpenTextProps {
  readonly text: string;
  readonly row: JsonRow;
  readonly path: Path;
  readonly onClose: () => void;
}

/** A text that does not fit its row, as its reader would see it. */
function OpenText({ text, row, path, onClose }: OpenTextProps) {
  const value = useMemo(() => copiedValueOf(text, row), [text, row]);
  const way = pathOf(text, row, path);
  return (
    <section class="json-open" aria-label={way}>
      <div class="json-bar">
        <code>{way}</code>
        <span class="json-bar-end">
          <CopyButton isSign name={`Copy ${way}`} text={() => value} />
          <button type="button" class="quiet" onClick={onClose}>
            Close
          </button>
        </span>
      </div>
      <div class="json-text" role="region" aria-label={`Text of ${way}`} tabIndex={0}>
        <Plain text={value} />
      </div>
    </section>
  );
}
