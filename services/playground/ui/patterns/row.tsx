import type { ComponentChildren } from 'preact';
import { StatusDot, toneOf } from './status-dot.tsx';

interface RowProps {
  /** Where it leads; absent where there is nothing to open. */
  readonly href?: string | undefined;
  /** A status as the service names it; none where things of the list have no status. */
  readonly status?: string | undefined;
  /** What it is called: words before ids. */
  readonly title: ComponentChildren;
  /** Why it stands where it stands: the cause of a failure, a question, how far it is. It has the colour of the status. */
  readonly why?: ComponentChildren;
  /** Quiet facts, each in a column of its own where there is room. */
  readonly facts?: readonly ComponentChildren[];
  /** When it was; stands last. */
  readonly time?: ComponentChildren;
  readonly isSelected?: boolean;
  /** Lets the reader choose several rows. */
  readonly choice?: {
    readonly label: string;
    readonly isChosen: boolean;
    readonly onChange: (isChosen: boolean) => void;
  };
}

/** A row of a list: the whole of it is the link. In a narrow list it has two lines. */
export function Row({ href, status, title, why, facts = [], time, isSelected = false, choice }: RowProps) {
  const parts = (
    <>
      {status !== undefined && <StatusDot status={status} />}
      <span class="item-words">
        <span class="item-title" dir="auto">
          {title}
        </span>
        {why !== undefined && (
          <span class={`item-why tone-${toneOf(status ?? '')}`} dir="auto">
            {why}
          </span>
        )}
      </span>
      <span class="item-facts">
        {facts.map((fact, index) => (
          <span key={index}>{fact}</span>
        ))}
      </span>
      <span class="item-time">{time}</span>
    </>
  );
  const link =
    href === undefined ? (
      <div class="item">{parts}</div>
    ) : (
      <a class="item" href={href} data-row aria-current={isSelected ? 'true' : undefined}>
        {parts}
      </a>
    );
  if (choice === undefined) return link;
  return (
    <div class="item-chosen">
      <input
        type="checkbox"
        aria-label={choice.label}
        checked={choice.isChosen}
        onChange={(event) => choice.onChange(event.currentTarget.checked)}
      />
      {link}
    </div>
  );
}
