import type { Pages } from '../session/pages.ts';
import { ErrorNote } from './error-note.tsx';
import { counted } from './format.ts';

interface LoadMoreProps {
  readonly pages: Pages<unknown>;
  /** What the list holds one of: `thread`. */
  readonly thing: string;
  /** Many of them, where an `s` does not do. */
  readonly things?: string;
  readonly more: () => void;
  readonly again: () => void;
}

/** The end of a list: how much of it is shown, what went wrong, and the button for the next page. */
export function LoadMore({ pages, thing, things = `${thing}s`, more, again }: LoadMoreProps) {
  const { items, cursor, error, isLoading, hasFailedFirst = false } = pages;
  return (
    <div class="load-more">
      {error !== undefined && <ErrorNote error={error} again={items.length === 0 || hasFailedFirst ? again : more} />}
      <span class="hint" role="status">
        {sentenceOf(pages, thing, things)}
      </span>
      {cursor !== undefined && (
        <button type="button" disabled={isLoading} onClick={more}>
          {items.length === 0 ? 'Search further' : `Load more ${things}`}
        </button>
      )}
    </div>
  );
}

function sentenceOf(
  { items: { length }, cursor, isLoading, error }: Pages<unknown>,
  thing: string,
  things: string,
): string {
  if (isLoading) return 'Loading …';
  if (length === 0) return cursor === undefined || error !== undefined ? '' : `None among the newest ${things}`;
  if (cursor === undefined) return counted(length, thing, things);
  return length === 1 ? `The first ${thing}` : `The first ${counted(length, thing, things)}`;
}
