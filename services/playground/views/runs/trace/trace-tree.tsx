import { useMemo, useState } from 'preact/hooks';
import { duration } from '../../../ui/format.ts';
import { Icon, type IconName } from '../../../ui/icon.tsx';
import { useMedia, useNarrow } from '../../../ui/media.ts';
import { TreeRows } from '../../../ui/tree/tree-rows.tsx';
import { TraceBar } from './trace-bar.tsx';
import { percentAt, ticksOf, type TraceAxis } from './trace-axis.ts';
import type { RowKind } from './row-kind.ts';
import { wordsOf } from './row-words.ts';
import { statusOfNode } from './span-tree.ts';
import type { TraceRow } from './trace-rows.ts';

interface TraceTreeProps {
  readonly rows: readonly TraceRow[];
  readonly axis: TraceAxis;
  readonly now: number;
  /** The row that is chosen, by its key. */
  readonly chosen: string | undefined;
  readonly wanted: string;
  readonly onChoose: (row: TraceRow) => void;
  readonly onToggle: (row: TraceRow, isOpen: boolean) => void;
  readonly onFind: (wanted: string) => void;
  /** Enter upon a row that is chosen. */
  readonly onEnter: (row: TraceRow) => void;
}

const icons: Readonly<Record<RowKind, IconName>> = {
  step: 'step',
  node: 'step',
  branch: 'step',
  fan: 'fan',
  sub: 'graph',
  try: 'retry',
  model: 'model',
  tool: 'tool',
  takeover: 'takeover',
  rest: 'more',
  queue: 'schedules',
  lost: 'more',
};

/** What a screen reader calls a row, before its name. */
const kindWords: Readonly<Record<RowKind, string>> = {
  step: 'Step',
  node: 'Node',
  branch: 'Branch',
  fan: 'Fan-out',
  sub: 'Sub-graph',
  try: 'Attempt:',
  model: 'Model',
  tool: 'Tool',
  takeover: 'Takeover:',
  rest: '',
  queue: '',
  lost: '',
};

/** Heights of rows in pixels, which `trace.css` does not say again. */
const heights = { wide: { row: 29, fan: 40 }, narrow: { row: 44, fan: 48 } } as const;

/** The spans of a run as a tree, each with its bar on one axis of time, which scrolls with it. */
export function TraceTree(props: TraceTreeProps) {
  const { rows, axis, now, chosen, wanted, onChoose, onToggle, onFind, onEnter } = props;
  const isNarrow = useNarrow();
  const isTight = useMedia('(max-width: 1080px)');
  const height = isNarrow ? heights.narrow : heights.wide;
  const tall = useMemo(
    () => rows.flatMap(({ kind }, at) => (kind === 'fan' ? [{ at, height: height.fan }] : [])),
    [rows, height],
  );
  // A row that stands for no span can be gone to, and is not chosen.
  const [here, setHere] = useState({ key: chosen, chosen });
  const activeKey = here.chosen === chosen ? here.key : chosen;
  const active = Math.max(
    0,
    rows.findIndex(({ key }) => key === activeKey),
  );
  const goTo = (row: TraceRow): void => {
    setHere({ key: row.key, chosen: row.node ? row.key : chosen });
    onChoose(row);
  };
  const ticks = ticksOf(axis, isTight ? 4 : 6);
  const at = (index: number): TraceRow => rows[index] as TraceRow;
  return (
    <section class="trace-tree" aria-label="Trace">
      <div class="trace-axis">
        <div class="trace-find">
          <Icon name="search" />
          <input
            type="search"
            aria-label="Find a step"
            placeholder="Find a step"
            value={wanted}
            onInput={(event) => onFind(event.currentTarget.value)}
          />
        </div>
        <div class="trace-ticks" aria-hidden="true">
          {ticks.map(({ ms, text }) => (
            <span key={ms} style={{ insetInlineStart: `${percentAt(axis, axis.startMs + ms).toFixed(2)}%` }}>
              {text}
            </span>
          ))}
        </div>
      </div>
      {rows.length === 0 && <p class="hint trace-none">No step has “{wanted}” in its name or error.</p>}
      {rows.length > 0 && (
        <TreeRows
          class="trace-rows"
          label="Steps on one time axis"
          count={rows.length}
          rowAt={(index) => {
            const { key, level, isOpen, kind, node } = at(index);
            const status = node ? `row-${statusOfNode(node)}` : '';
            return { key, level, isOpen, class: `trace-row row-${kind} ${status}` };
          }}
          parentOf={(index) => at(index).parent}
          height={height.row}
          tall={tall}
          active={active}
          reveal={chosen}
          onActive={(index) => goTo(at(index))}
          onToggle={(index, isOpen) => onToggle(at(index), isOpen)}
          onPress={(index) => press(at(index))}
          render={(index) => <TraceCells row={at(index)} axis={axis} now={now} />}
        >
          <div class="trace-grid" aria-hidden="true">
            {ticks.map(({ ms }) => (
              <span key={ms} style={{ insetInlineStart: `${percentAt(axis, axis.startMs + ms).toFixed(2)}%` }} />
            ))}
          </div>
        </TreeRows>
      )}
      <p class="trace-legend" aria-hidden="true">
        <span class="key-step">step</span>
        <span class="key-model">model</span>
        <span class="key-tool">tool</span>
        <span class="key-replayed">replayed</span>
        <span class="key-holds">holds others</span>
      </p>
    </section>
  );
  function press(row: TraceRow): void {
    if (row.kind === 'rest') onToggle(row, row.isOpen !== true);
    else if (row.key === chosen) onEnter(row);
    else onChoose(row);
  }
}

interface TraceCellsProps {
  readonly row: TraceRow;
  readonly axis: TraceAxis;
  readonly now: number;
}

function TraceCells({ row, axis, now }: TraceCellsProps) {
  const { kind, level, node, isOpen } = row;
  const { name, note } = wordsOf(row, now);
  const isCode = kind === 'model' || kind === 'tool';
  return (
    <>
      <span class="trace-name" style={{ paddingInlineStart: `calc(${String(level - 1)} * var(--trace-indent))` }}>
        <span class={isOpen === undefined ? 'no-twisty' : 'twisty'} aria-hidden="true" />
        <Icon name={icons[kind]} />
        <span class="unseen">{kindWords[kind]} </span>
        <bdi class={`trace-what ${isCode ? 'is-code' : ''}`}>{name}</bdi>
        {note !== '' && <span class="trace-note">{note}</span>}
        {node && (
          <span class="unseen">
            {statusOfNode(node)}
            {level === 1 ? `, step ${String(node.span.step)}` : ''}
          </span>
        )}
      </span>
      <span class="trace-took">{kind === 'takeover' || kind === 'lost' ? '' : duration(row.endMs - row.startMs)}</span>
      <span class="trace-lane">
        <TraceBar row={row} note={note} axis={axis} now={now} />
      </span>
    </>
  );
}
