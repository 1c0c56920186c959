import { useEffect, useRef } from 'preact/hooks';

interface SearchBoxProps {
  /** What is searched: `Runs`. */
  readonly label: string;
  readonly placeholder: string;
  /** What a screen reader calls the box. */
  readonly name?: string;
  /** What is searched for now. */
  readonly value: string;
  /** Called when the reader has stopped typing, and at Enter. */
  readonly onSearch: (text: string) => void;
}

/** How long a reader who types is waited for, in milliseconds. */
const typingMs = 250;

/** The box to search a list in. What is searched for may stand in the address, which also links change. */
export function SearchBox({ label, placeholder, name = 'Search', value, onSearch }: SearchBoxProps) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => () => clearTimeout(timer.current), []);
  // A reader who types is not interrupted.
  useEffect(() => {
    if (box.current && document.activeElement !== box.current) box.current.value = value;
  }, [value]);
  const find = (): void => {
    clearTimeout(timer.current);
    onSearch(box.current?.value.trim() ?? '');
  };
  const onInput = (): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(find, typingMs);
  };
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    find();
  };
  return (
    <form role="search" aria-label={label} onSubmit={onSubmit}>
      <input
        ref={box}
        type="search"
        aria-label={name}
        defaultValue={value}
        onInput={onInput}
        placeholder={placeholder}
      />
    </form>
  );
}
