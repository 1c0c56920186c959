import type { SharedThread } from '@agent-workflow/client';
import type { ListPage } from '../../session/read-on.ts';
import { client } from '../../session/session.ts';

/** What one list of the service is asked for: what is shared with the reader, with a role, or with everybody. */
type Source = Readonly<Record<string, never>> | { readonly role: string } | { readonly everybody: 'true' };

/** A list with the cursor of its next page; none for its first. */
type Place = readonly [Source, string?];

/** Where the first pages are, for a reader with these roles. */
const firstPlaces = (roles: readonly string[]): readonly Place[] => [
  [{}],
  ...roles.map((role): Place => [{ role }]),
  [{ everybody: 'true' }],
];

/** The next page of all that is shared with the reader; its cursor names the lists that go on. Within a page the newest are first. */
export async function sharedPage(
  roles: readonly string[],
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<ListPage<SharedThread>> {
  const places = cursor === undefined ? firstPlaces(roles) : (JSON.parse(cursor) as readonly Place[]);
  const pages = await Promise.all(
    places.map(async ([source, after]) => {
      const page = await client.shares.withMe({ ...source, ...(after !== undefined && { cursor: after }) }, { signal });
      return { source, page };
    }),
  );
  const next = pages.flatMap(({ source, page }): Place[] => (page.cursor === undefined ? [] : [[source, page.cursor]]));
  const items = pages.flatMap(({ page }) => page.shares);
  return {
    items: items.toSorted((a, b) => b.created_at.localeCompare(a.created_at)),
    ...(next.length > 0 && { cursor: JSON.stringify(next) }),
  };
}
