import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useMemo, useReducer, useRef } from 'preact/hooks';
import { rowPlaces, type TallRow } from './row-places.ts';
import { moveOf } from './tree-keys.ts';

/** A row as a tree knows it. */
interface TreeRow {
  readonly key: string;
  /** From 1. */
  readonly level: number;
  /** Absent where a row holds no others. */
  readonly isOpen?: boolean | undefined;
  readonly class?: string;
}

interface TreeRowsProps {
  readonly label: string;
  readonly count: number;
  readonly rowAt: (index: number) => TreeRow;
  readonly parentOf: (index: number) => number | undefined;
  /** The height of a row, in pixels. */
  readonly height: number;
  /** Rows of other heights, in their order. */
  readonly tall?: readonly TallRow[];
  /** The row that the keys are at. */
  readonly active: number;
  /** Changes whenever the active row is to be brought into sight. */
  readonly reveal?: unknown;
  readonly onActive: (index: number) => void;
  readonly onToggle: (index: number, isOpen: boolean) => void;
  /** Enter, the space bar, or a click beside the sign that opens. */
  readonly onPress?: (index: number, row: Element | null) => void;
  /** A key that is not the tree's; it says whether it did something. */
  readonly onKey?: (event: KeyboardEvent, index: number) => boolean;
  readonly render: (index: number, isActive: boolean) => ComponentChildren;
  /** Drawn before the rows, at their full height and width. */
  readonly children?: ComponentChildren;
  readonly class?: string;
}

/** So many rows are drawn above and below those in sight. */
const overscan = 6;

/**
 * A tree of any number of rows, of which those in sight are drawn. It is one tab stop; the arrow keys go from row to row, open and close, as in the
 * ARIA pattern. A click upon an element of the class `twisty` opens or closes.
 */
export function TreeRows(props: TreeRowsProps) {
  const { label, count, rowAt, parentOf, height, tall, active, reveal, render, children } = props;
  const id = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((turn: number) => turn + 1, 0);
  const places = useMemo(() => rowPlaces(count, height, tall), [count, height, tall]);
  useEffect(() => {
    const { current } = scroller;
    if (!current) return undefined;
    const observer = new ResizeObserver(() => redraw(undefined));
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  const { scrollTop = 0, clientHeight = 0 } = scroller.current ?? {};
  const size = clientHeight || 640;
  const first = Math.max(0, places.indexAt(scrollTop) - overscan);
  const last = Math.min(count - 1, places.indexAt(scrollTop + size) + overscan);
  useLayoutEffect(() => {
    const { current } = scroller;
    if (!current || count === 0) return;
    const top = places.topOf(active);
    const bottom = top + places.heightOf(active);
    if (top < current.scrollTop) current.scrollTop = top;
    else if (bottom > current.scrollTop + current.clientHeight)
      current.scrollTop = Math.min(top, bottom - current.clientHeight);
    else return;
    redraw(undefined);
  }, [active, reveal]);
  const press = (index: number): void => {
    const { isOpen } = rowAt(index);
    if (props.onPress) props.onPress(index, document.getElementById(`${id}-${String(index)}`));
    else if (isOpen !== undefined) props.onToggle(index, !isOpen);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target !== scroller.current) return;
    const page = Math.max(1, Math.floor(size / height) - 1);
    const isOpen = (index: number): boolean | undefined => rowAt(index).isOpen;
    const move = moveOf(event.key, active, { count, page, isOpen, parentOf });
    if (!move) {
      if (props.onKey?.(event, active)) event.preventDefault();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    if (move.kind === 'go') props.onActive(move.to);
    else if (move.kind === 'press') press(active);
    else props.onToggle(active, move.kind === 'open');
  };
  const onClick = (event: MouseEvent, index: number): void => {
    if (!(event.target instanceof Element)) return;
    if (event.target.closest('button, a')) return;
    const { isOpen } = rowAt(index);
    if (index !== active) props.onActive(index);
    if (isOpen !== undefined && event.target.closest('.twisty')) props.onToggle(index, !isOpen);
    else press(index);
  };
  const shown = Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at);
  return (
    <div
      class={`tree-rows ${props.class ?? ''}`}
      ref={scroller}
      role="tree"
      tabIndex={0}
      aria-label={label}
      aria-activedescendant={active >= first && active <= last ? `${id}-${String(active)}` : undefined}
      onKeyDown={onKeyDown}
      onScroll={() => redraw(undefined)}
    >
      <div class="tree-sheet" role="presentation" style={{ height: `${String(places.total)}px` }}>
        {children}
        {shown.map((index) => {
          const row = rowAt(index);
          return (
            <div
              key={row.key}
              id={`${id}-${String(index)}`}
              role="treeitem"
              aria-level={row.level}
              aria-expanded={row.isOpen}
              aria-selected={index === active}
              class={`tree-row ${row.class ?? ''}`}
              style={{
                transform: `translateY(${String(places.topOf(index))}px)`,
                minHeight: `${String(places.heightOf(index))}px`,
              }}
              onClick={(event) => onClick(event, index)}
            >
              {render(index, index === active)}
            </div>
          );
        })}
      </div>
    </div>
  );
}
