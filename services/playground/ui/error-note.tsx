import { describe } from '../session/session.ts';

/** Says what went wrong, and offers to try again where that may help. */
export function ErrorNote({ error, again }: { readonly error: unknown; readonly again?: () => void }) {
  return (
    <div class="note note-error" role="alert">
      <span>{describe(error)}</span>
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}
