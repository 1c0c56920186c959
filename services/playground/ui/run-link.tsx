import { toHash } from '../session/route.ts';

/** Leads to a run by the beginning of its id; the whole one is its title. */
export function RunLink({ id }: { readonly id: string }) {
  return (
    <a href={toHash({ view: 'runs', id })} title={id}>
      run {id.slice(0, 8)}
    </a>
  );
}
