import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';
import { placesOf } from './places-of.ts';

/** So many places are marked, and so many characters looked through, at most: what is in sight is less. */
const maxMarks = 1000;
const maxCharacters = 1024 * 1024;

interface Marked {
  /** What is sought; nothing is marked where it is empty. */
  readonly text: string;
  /** Selects the element whose places stand out, inside of what is marked. */
  readonly current: string | undefined;
}

/**
 * Marks a text wherever it stands in an element, also in what is drawn later. The elements stay as they are: the browser paints the marks
 * (`::highlight(found)`), and one that cannot shows none.
 */
export function useMarks(root: RefObject<HTMLElement>, { text, current }: Marked): void {
  useEffect(() => {
    const { current: element } = root;
    if (!element || text === '' || !('highlights' in CSS)) return undefined;
    let frame = 0;
    const mark = (): void => {
      const { found, chosen } = rangesIn(element, text, current);
      CSS.highlights.set('found', new Highlight(...found));
      CSS.highlights.set('found-current', new Highlight(...chosen));
    };
    const again = (): void => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(mark);
    };
    mark();
    const observer = new MutationObserver(again);
    observer.observe(element, { childList: true, characterData: true, subtree: true });
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame);
      for (const name of ['found', 'found-current']) CSS.highlights.delete(name);
    };
  }, [root.current, text, current]);
}

interface Ranges {
  readonly found: Range[];
  readonly chosen: Range[];
}

function rangesIn(element: HTMLElement, text: string, current: string | undefined): Ranges {
  const ranges: Ranges = { found: [], chosen: [] };
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let read = 0;
  for (let node = walker.nextNode(); node && read < maxCharacters; node = walker.nextNode()) {
    const content = node.nodeValue ?? '';
    read += content.length;
    const isChosen = current !== undefined && node.parentElement?.closest(current) !== null;
    for (const at of placesOf(content, text, maxMarks - ranges.found.length - ranges.chosen.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + text.length);
      (isChosen ? ranges.chosen : ranges.found).push(range);
    }
  }
  return ranges;
}
