import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { describe } from '../../session/session.ts';
import { grouped } from '../../ui/format.ts';
import { Icon } from '../../ui/icon.tsx';
import type { Finding } from './found-messages.ts';

/** How long after the last key the messages are searched, in milliseconds. */
const quietMs = 200;

/** The box that searches the messages of the open chat: Enter goes to the one before, as they are read from the end. */
export function FindBar({ finding }: { readonly finding: Finding }) {
  const [text, setText] = useState(finding.text.peek());
  const box = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => box.current?.focus(), []);
  useEffect(() => {
    const timer = setTimeout(() => void finding.seek(text.trim()), quietMs);
    return () => clearTimeout(timer);
  }, [text, finding]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') finding.close();
    else if (event.key === 'Enter' && !event.isComposing) finding.step(event.shiftKey ? 1 : -1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const { length } = finding.ids.value;
  return (
    <div class="find-bar" role="search" aria-label="Messages of this chat">
      <Icon name="search" />
      <input
        ref={box}
        type="search"
        aria-label="Search in this chat"
        placeholder="Search in this chat"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <span class="hint" role="status">
        {countText(finding)}
      </span>
      <Step finding={finding} by={-1} name="Previous message found" isOff={length === 0} />
      <Step finding={finding} by={1} name="Next message found" isOff={length === 0} />
      <button type="button" class="button-quiet button-sign" aria-label="Close the search" onClick={finding.close}>
        <Icon name="close" />
      </button>
    </div>
  );
}

interface StepProps {
  readonly finding: Finding;
  readonly by: 1 | -1;
  readonly name: string;
  readonly isOff: boolean;
}

const Step = ({ finding, by, name, isOff }: StepProps) => (
  <button
    type="button"
    class="button-quiet button-sign"
    aria-label={name}
    title={name}
    aria-disabled={isOff}
    onClick={() => finding.step(by)}
  >
    <Icon name={by === 1 ? 'down' : 'up'} />
  </button>
);

function countText({ text, ids, at, hasMore, isReading, error }: Finding): string {
  if (error.value !== undefined) return describe(error.value);
  if (text.value === '') return '';
  const { length } = ids.value;
  if (length === 0) return isReading.value ? 'Searching …' : 'No message holds it';
  return `${grouped(at.value + 1)} of ${grouped(length)}${hasMore.value ? '+' : ''}`;
}
