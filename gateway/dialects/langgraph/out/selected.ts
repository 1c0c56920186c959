type Members = Readonly<Record<string, unknown>>;

/** The members that a request selects; all where it selects none. A name that no member has selects nothing. */
export function selected(members: Members, select: readonly string[] | undefined): Members {
  if (!select) return members;
  return Object.fromEntries(Object.entries(members).filter(([name]) => select.includes(name)));
}
