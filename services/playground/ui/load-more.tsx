import type { Pages } from '../session/pages.ts';
import { ErrorNote } from './error-note.tsx';

interface LoadMoreProps {
  readonly pages: Pages<unknown>;
  /** What the list holds: `threads`. */
  readonly things: string;
  readonly more: () => void;
  readonly again: () => void;
}

/** The end of a list: how much of it is shown, what went wrong, and the button for the next page. */
export function LoadMore({ pages: { items, cursor, error, isLoading }, things, more, again }: LoadMoreProps) {
  const count = items.length.toLocaleString();
  return (
    <div class="load-more">
      {error !== undefined && <ErrorNote error={error} again={items.length === 0 ? again : more} />}
      <span class="hint" role="status">
        {sentenceOf(
          isLoading,
          items.length,
          cursor === undefined ? `${count} ${things}` : `The first ${count} ${things}`,
        )}
      </span>
      {cursor !== undefined && (
        <button type="button" disabled={isLoading} onClick={more}>
          Load more {things}
        </button>
      )}
    </div>
  );
}

function sentenceOf(isLoading: boolean, count: number, shown: string): string {
  if (isLoading) return 'Loading …';
  return count === 0 ? '' : shown;
}
