type Members = Readonly<Record<string, unknown>>;

/** The members that a request selects; all where it selects none. */
export function selected(members: Members, select: readonly string[] | undefined): Members {
  if (!select?.length) return members;
  return Object.fromEntries(Object.entries(members).filter(([name]) => select.includes(name)));
}
