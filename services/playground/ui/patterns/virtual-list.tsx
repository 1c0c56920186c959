import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualItem,
} from '@tanstack/virtual-core';
import type { ComponentChildren, RefObject } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useReducer, useRef } from 'preact/hooks';
import { RawOnFault } from './raw-on-fault.tsx';

interface VirtualListProps<T> {
  readonly label: string;
  readonly items: readonly T[];
  readonly keyOf: (item: T, index: number) => string;
  readonly render: (item: T, index: number) => ComponentChildren;
  /** The height of an item before it is measured, in pixels. */
  readonly estimate: number;
  /** Whether nearly all items have one height: the first that is measured then tells that of all that are not. */
  readonly isEven?: boolean;
  /** Changes whenever `items` holds others than before and is the same array; it need not where some were only added. */
  readonly version?: number;
  /** Stays at the end while items are added there, unless the reader has scrolled up. */
  readonly followsEnd?: boolean;
  /** Called when the reader comes near the start: items that are added there do not move those in sight. */
  readonly onNearStart?: (() => void) | undefined;
  /** Called when the reader comes near the end. */
  readonly onNearEnd?: (() => void) | undefined;
  /** Called when a reader has left the end, and when they are back. */
  readonly onEnd?: (isAtEnd: boolean) => void;
  /** Filled with what can be done with the list while it is there. */
  readonly actions?: RefObject<ListActions>;
}

/** What can be done with a list from outside. */
export interface ListActions {
  /** Brings an item into sight. */
  readonly show: (index: number) => void;
  /** Goes to the end, and stays there while items are added. */
  readonly showEnd: () => void;
}

/** How near to its end a list counts as read to its end, in pixels. */
const nearEnd = 80;
/** How near to its start `onNearStart` is called, and to its end `onNearEnd`, in pixels. */
const nearStart = 600;

/** A list that holds only the items in sight and a few around them, of whatever height each is. */
export function VirtualList<T>({ label, items, keyOf, render, estimate, ...options }: VirtualListProps<T>) {
  const { isEven = false, version, followsEnd = false, onNearStart, onNearEnd, onEnd, actions } = options;
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const held = useRef<Virtualizer<HTMLDivElement, HTMLLIElement> | undefined>(undefined);
  const wasAtEnd = useRef(followsEnd);
  const lastTop = useRef(0);
  const height = useRef<number | undefined>(undefined);
  // Another function of keys has the places of all items worked out again, which takes long where they are many.
  const getItemKey = useCallback((index: number) => keyOf(items[index] as T, index), [items, version]);
  const ofVirtual = {
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height.current ?? estimate,
    getItemKey,
    overscan: 6,
    ...(followsEnd && { anchorTo: 'end' as const }),
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw(undefined),
  };
  const virtual = (held.current ??= new Virtualizer(ofVirtual));
  virtual.setOptions(ofVirtual);
  const measure = useCallback((element: HTMLLIElement | null) => {
    if (!element) return;
    // Each item whose height is not the estimated one moves all that follow it.
    if (isEven && height.current === undefined && element.isConnected) {
      height.current = element.offsetHeight;
      virtual.measure();
    }
    virtual.measureElement(element);
  }, []);
  useEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => {
    virtual._willUpdate();
    const { current } = scroller;
    if (followsEnd && wasAtEnd.current && current) current.scrollTop = current.scrollHeight;
  });
  const stand = (isAtEnd: boolean): void => {
    if (wasAtEnd.current === isAtEnd) return;
    wasAtEnd.current = isAtEnd;
    if (followsEnd) onEnd?.(isAtEnd);
  };
  if (actions)
    actions.current = {
      show: (index) => {
        stand(false);
        virtual.scrollToIndex(index, { align: 'center' });
      },
      showEnd: () => {
        stand(true);
        redraw(undefined);
      },
    };
  const onScroll = (): void => {
    const { current } = scroller;
    if (!current) return;
    const isAtEnd = current.scrollHeight - current.scrollTop - current.clientHeight < nearEnd;
    // Items that are measured move the end away: only who scrolls up has left it.
    if (isAtEnd || current.scrollTop < lastTop.current) stand(isAtEnd);
    lastTop.current = current.scrollTop;
    if (!wasAtEnd.current && current.scrollTop < nearStart) onNearStart?.();
    if (current.scrollHeight - current.scrollTop - current.clientHeight < nearStart) onNearEnd?.();
  };
  return (
    <div
      class="virtual"
      ref={scroller}
      onScroll={onScroll}
      onKeyDown={jump}
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      <ol style={{ height: `${String(virtual.getTotalSize())}px` }}>
        {virtual.getVirtualItems().map(({ key, index, start }: VirtualItem) => (
          <li
            key={key}
            data-index={index}
            data-key={key}
            aria-setsize={items.length}
            aria-posinset={index + 1}
            ref={measure}
            style={{ transform: `translateY(${String(start)}px)` }}
          >
            <RawOnFault raw={items[index]}>{render(items[index] as T, index)}</RawOnFault>
          </li>
        ))}
      </ol>
    </div>
  );
}

/** Home and End go to the ends at once: a smooth way there is ended by the items that are measured on it. */
function jump(event: KeyboardEvent): void {
  const { key, target, currentTarget } = event;
  if (
    !(currentTarget instanceof HTMLElement) ||
    target instanceof HTMLInputElement ||
    target instanceof HTMLTextAreaElement
  )
    return;
  if (key === 'End') currentTarget.scrollTop = currentTarget.scrollHeight;
  else if (key === 'Home') currentTarget.scrollTop = 0;
  else return;
  event.preventDefault();
}
