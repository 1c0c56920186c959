import type { ComponentChildren } from 'preact';

interface BlankProps {
  /** What is not there: `No thread yet`, `No thread holds this text`. */
  readonly title: string;
  /** What this is, and what follows from it, in a sentence or two. */
  readonly text?: ComponentChildren;
  /** The first thing to do: a link or a button. */
  readonly action?: ComponentChildren;
  /** A page of the guide. */
  readonly docs?: string;
}

/** Stands where a list or a detail has nothing to show. */
export function Blank({ title, text, action, docs }: BlankProps) {
  return (
    <div class="blank">
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
