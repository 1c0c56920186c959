import { signal } from '@preact/signals';
import { parseIds, withId } from './kept-ids.ts';

/** Where the ids are kept, for all tabs of this browser. */
const key = 'files';

/** The files that were sent or opened from this browser, the newest first: the service has no list of files. */
export const keptFiles = signal<readonly string[]>(parseIds(localStorage.getItem(key)));

function keep(ids: readonly string[]): void {
  keptFiles.value = ids;
  localStorage.setItem(key, JSON.stringify(ids));
}

/** Puts a file first. */
export const keepFile = (id: string): void => keep(withId(keptFiles.peek(), id));

/** Takes files off the list. */
export const forgetFiles = (ids: readonly string[]): void =>
  keep(keptFiles.peek().filter((each) => !ids.includes(each)));
