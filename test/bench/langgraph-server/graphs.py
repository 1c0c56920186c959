"""The graphs of the benchmark for a LangGraph Server: one says what it heard, one streams 200 tokens."""

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph


def say(state):
    return {"messages": [AIMessage(state["messages"][-1].content)]}


async def stream(state):
    text = " ".join(f"token-{index}" for index in range(100))
    return {"messages": [await GenericFakeChatModel(messages=iter([AIMessage(text)])).ainvoke(state["messages"])]}


def of(node):
    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return graph.compile()


echo, streamer = of(say), of(stream)
