import { useEffect, useState } from 'preact/hooks';
import { copyText } from '../../session/clipboard.ts';

/** For how long the button says that it has copied, in milliseconds. */
const noticeMs = 1500;

/** More characters of an id are not shown. */
const maxShown = 12;

interface CopyIdProps {
  readonly id: string;
  /** What is copied, for who does not see it. */
  readonly what?: string;
}

/** An id: short, copied by a click, and whole in its title. */
export function CopyId({ id, what = 'the id' }: CopyIdProps) {
  const [notice, setNotice] = useState('');
  useEffect(() => {
    if (notice === '') return undefined;
    const timer = setTimeout(() => setNotice(''), noticeMs);
    return () => clearTimeout(timer);
  }, [notice]);
  const copy = (): void => {
    copyText(id).then(
      () => setNotice('Copied'),
      () => setNotice('Not copied'),
    );
  };
  const shown = id.length > maxShown ? `${id.slice(0, 8)}…` : id;
  return (
    <>
      <button
        type="button"
        class="copy-id"
        title={id}
        aria-label={notice === '' ? `Copy ${what} ${shown}` : notice}
        onClick={copy}
      >
        {notice === '' ? shown : notice}
      </button>
      <span class="unseen" role="status">
        {notice}
      </span>
    </>
  );
}
