import { useEffect, useState } from 'preact/hooks';
import { copyText } from '../session/clipboard.ts';
import { Icon } from './icon.tsx';

interface CopyButtonProps {
  /** Makes what is copied when it is wanted. */
  readonly text: () => string;
  /** What the button is called: `Copy the code`. */
  readonly name: string;
  /** Whether it is a sign alone, as among others. */
  readonly isSign?: boolean;
  /** What stands beside the sign: `Copy`, unless given. */
  readonly children?: string;
  readonly tabIndex?: number;
}

/** For how long it says that it has copied, in milliseconds. */
const shownMs = 1500;

/** Copies a text, and says so for a moment. */
export function CopyButton({ text, name, isSign = false, children = 'Copy', tabIndex }: CopyButtonProps) {
  const [word, show] = useState('');
  useEffect(() => {
    if (word === '') return undefined;
    const timer = setTimeout(() => show(''), shownMs);
    return () => clearTimeout(timer);
  }, [word]);
  const copy = (): void => {
    copyText(text()).then(
      () => show('Copied'),
      () => show('Not copied'),
    );
  };
  return (
    <button
      type="button"
      class={isSign ? 'button-quiet button-sign tiny' : 'button-quiet tiny'}
      aria-label={word || name}
      title={name}
      tabIndex={tabIndex}
      onClick={copy}
    >
      <Icon name={word === 'Copied' ? 'check' : 'copy'} />
      {!isSign && <span>{word || children}</span>}
    </button>
  );
}
