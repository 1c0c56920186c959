/** What a tree knows of its rows to move among them. */
interface TreeShape {
  readonly count: number;
  /** Rows that fit a page. */
  readonly page: number;
  readonly isOpen: (index: number) => boolean | undefined;
  /** The row that holds another; absent at the top. */
  readonly parentOf: (index: number) => number | undefined;
}

/** What a key asks for. */
type TreeMove = { readonly kind: 'go'; readonly to: number } | { readonly kind: 'open' | 'close' | 'press' };

/** What a key does in a tree, as the ARIA pattern has it; `undefined` for a key that is not the tree's. */
export function moveOf(
  key: string,
  active: number,
  { count, page, isOpen, parentOf }: TreeShape,
): TreeMove | undefined {
  const go = (to: number): TreeMove => ({ kind: 'go', to: Math.max(0, Math.min(count - 1, to)) });
  switch (key) {
    case 'ArrowDown':
      return go(active + 1);
    case 'ArrowUp':
      return go(active - 1);
    case 'PageDown':
      return go(active + page);
    case 'PageUp':
      return go(active - page);
    case 'Home':
      return go(0);
    case 'End':
      return go(count - 1);
    case 'ArrowRight':
      if (isOpen(active) === false) return { kind: 'open' };
      return isOpen(active) === true ? go(active + 1) : undefined;
    case 'ArrowLeft': {
      if (isOpen(active) === true) return { kind: 'close' };
      const parent = parentOf(active);
      return parent === undefined ? undefined : go(parent);
    }
    case 'Enter':
    case ' ':
      return { kind: 'press' };
    default:
      return undefined;
  }
}
