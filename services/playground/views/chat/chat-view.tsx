/** A view. */
export function ChatView() {
  return <h1>Chat</h1>;
}
