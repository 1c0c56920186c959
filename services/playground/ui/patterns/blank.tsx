import type { ComponentChildren } from 'preact';

interface BlankProps {
  /** What is not there: `No thread yet`, `No thread holds this text`. */
  readonly title: string;
  /** What this is, and what follows from it, in a sentence or two. */
  readonly text?: ComponentChildren;
  /** The first thing to do: a link or a button. */
  readonly action?: ComponentChildren;
  /** A page of the guide: where there is none of its kind yet, not where none was found. Beside it no other of these is shown. */
  readonly docs?: string;
}

/** Stands where a list or a detail has nothing to show. */
export function Blank({ title, text, action, docs }: BlankProps) {
  return (
    <div class={docs === undefined ? 'blank' : 'blank blank-first'}>
      <h2>{title}</h2>
      {text !== undefined && <p>{text}</p>}
      {(action !== undefined || docs !== undefined) && (
        <div class="blank-ways">
          {action}
          {docs !== undefined && <a href={docs}>Read the guide</a>}
        </div>
      )}
    </div>
  );
}
