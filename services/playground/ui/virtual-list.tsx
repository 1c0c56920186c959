import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualItem,
} from '@tanstack/virtual-core';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useReducer, useRef } from 'preact/hooks';

interface VirtualListProps<T> {
  readonly label: string;
  readonly items: readonly T[];
  readonly keyOf: (item: T, index: number) => string;
  readonly render: (item: T, index: number) => ComponentChildren;
  /** The height of an item before it is measured, in pixels. */
  readonly estimate: number;
  /** Stays at the end while items are added there, unless the reader has scrolled up. */
  readonly followsEnd?: boolean;
}

/** How near to its end a list counts as read to its end, in pixels. */
const nearEnd = 80;

/** A list that holds only the items in sight and a few around them, of whatever height each is. */
export function VirtualList<T>({ label, items, keyOf, render, estimate, followsEnd = false }: VirtualListProps<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const held = useRef<Virtualizer<HTMLDivElement, HTMLLIElement> | undefined>(undefined);
  const wasAtEnd = useRef(followsEnd);
  const options = {
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimate,
    getItemKey: (index: number) => keyOf(items[index] as T, index),
    overscan: 6,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw(undefined),
  };
  const virtual = (held.current ??= new Virtualizer(options));
  virtual.setOptions(options);
  useEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => {
    virtual._willUpdate();
    const { current } = scroller;
    if (followsEnd && wasAtEnd.current && current) current.scrollTop = current.scrollHeight;
  });
  const onScroll = (): void => {
    const { current } = scroller;
    if (current) wasAtEnd.current = current.scrollHeight - current.scrollTop - current.clientHeight < nearEnd;
  };
  return (
    <div class="virtual" ref={scroller} onScroll={onScroll} tabIndex={0} role="region" aria-label={label}>
      <ol style={{ height: `${String(virtual.getTotalSize())}px` }}>
        {virtual.getVirtualItems().map(({ key, index, start }: VirtualItem) => (
          <li
            key={key}
            data-index={index}
            aria-setsize={items.length}
            aria-posinset={index + 1}
            ref={(element) => {
              if (element) virtual.measureElement(element);
            }}
            style={{ transform: `translateY(${String(start)}px)` }}
          >
            {render(items[index] as T, index)}
          </li>
        ))}
      </ol>
    </div>
  );
}
