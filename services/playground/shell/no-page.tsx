import { toHash } from '../session/route.ts';
import { useTitle } from '../ui/title.ts';

/** Says that the address names no page, so that a link that is out of date is not taken for a new chat. */
export function NoPage({ name }: { readonly name: string }) {
  useTitle('No such page');
  return (
    <div class="stack">
      <h1>No such page</h1>
      <p class="note note-error" role="alert">
        There is no page “{name}”.
      </p>
      <p>
        <a href={toHash({ view: 'chat' })}>Begin a new chat</a>
      </p>
    </div>
  );
}
