// One agent of the reference among scripted parts, moved one action at a time.
//
// Not here: who acts next (adapter.mjs), what the scripted parts do (scripted.mjs).

import "./polyfill.mjs";
import { Context } from "@deepseek-ai/cordis";
import { AgentRegistry } from "@deepseek-ai/dsh-agent";
import { AgentLoop } from "@deepseek-ai/dsh-agent-loop";
import { LlmRuntime } from "@deepseek-ai/dsh-llm";
import { SessionStore } from "@deepseek-ai/dsh-session";
import { SystemPrompt } from "@deepseek-ai/dsh-system-prompt";
import { ToolRuntime } from "@deepseek-ai/dsh-tools";

import {
  ScriptedModel,
  message,
  preStepListener,
  requestErrorListener,
  scriptedTools,
  turnStoppingListener,
} from "./scripted.mjs";
import { Stage } from "./stage.mjs";

const LIVE = {
  "agent/inbox/inserted": ({ message }) => ({ live: "inserted", id: message.id }),
  "agent/inbox/discarded": ({ message }) => ({ live: "discarded", id: message.id }),
  "agent/inbox/claimed": ({ message, turn }) => ({ live: "claimed", id: message.id, turn }),
  "agent/status": ({ status }) => ({ live: "status", status }),
  "agent/error": ({ turn, step, error }) => ({ live: "error", turn, step, message: error.message }),
};

/** A stopped agent unwinds in fewer rounds of failing gates than this. */
const CLOSING_ROUNDS_MAX = 100;

export class World {
  static #opened = 0;

  #stage;
  #root;
  #handle;
  #unobserve;
  #idleWaits = 0;

  /**
   * Opens a world; a seed is the log that its session starts from. The worlds of one process
   * follow each other: the one before is closed first.
   */
  static async open({ listeners, maxParallel, seed, reactions }) {
    const world = new World();
    world.#stage = new Stage(reactions);
    world.#root = await services(world.#stage, maxParallel);
    world.#unobserve = world.#observe(listeners);
    World.#opened += 1;
    world.#handle = await world.#root.agents.create({
      sessionId: `world-${World.#opened}`,
      agentOptions: { provider: "mock", model: "mock" },
      ...(seed ? { seed } : {}),
    });
    return world;
  }

  /** Stops the agent and lets every gate fail, so that nothing of this world moves later. */
  async close() {
    // A disposal that was asked for amid a publication has failed already, and stays so.
    const disposed = this.#handle.dispose().catch(() => undefined);
    for (let round = 0; round < CLOSING_ROUNDS_MAX; round += 1) {
      await this.#stage.settle();
      const gates = this.#stage.held();
      if (gates.length === 0) break;
      this.#handle.agent.cancel({ kind: "disposed" });
      for (const gate of gates) this.#stage.release(gate, { throw: "closed" });
    }
    this.#unobserve();
    await disposed;
  }

  /** Performs one action and gives all that happened because of it. */
  async act(action) {
    if (action.op === "release") this.#stage.release(action.gate, action.do);
    else this.#perform(action);
    return this.#stage.settle();
  }

  /** Where the world stands. */
  rest() {
    const { inbox, status } = this.#handle.agent;
    const [nextTurn, nextStep] = lists(inbox);
    return { "next-turn": nextTurn, "next-step": nextStep, status, gates: this.#stage.held() };
  }

  /** Registers every observer and listener; the answer takes them back. */
  #observe(listeners) {
    const root = this.#root;
    const registered = [
      root.on("session/event", (_session, event) => this.#onDurable(event)),
      ...Object.entries(LIVE).map(([name, view]) =>
        root.on(name, (payload) => this.#onLive(view(payload))),
      ),
      ...listeners.map((name) => root.on("agent/pre-step", preStepListener(this.#stage, name))),
      root.on("agent/request-error", requestErrorListener(this.#stage)),
      root.on("agent/turn-stopping", turnStoppingListener(this.#stage)),
    ];
    return () => registered.forEach((unregister) => unregister());
  }

  #onDurable(event) {
    this.#stage.record({ event: observed(this.#stage, event) });
    if (event.type === "agent/inbox/spliced") {
      this.#stage.record({ lists: lists(this.#handle.agent.inbox) });
    }
    this.#react((on) => on.event === event.type);
  }

  #onLive(live) {
    this.#stage.record(live);
    const same = (on, key) => on[key] === undefined || on[key] === live[key];
    this.#react((on) => on.live === live.live && same(on, "id") && same(on, "status"));
  }

  #react(matches) {
    this.#stage.react(matches, (action) => this.#perform(action));
  }

  #perform(action) {
    try {
      const returned = this.#operate(action);
      if (returned !== undefined) this.#stage.record({ returned });
    } catch (error) {
      this.#stage.record(refusal(error));
    }
  }

  #operate(action) {
    const { agent } = this.#handle;
    const { inbox } = agent;
    switch (action.op) {
      case "followup":
      case "steer":
      case "inject":
        return agent[action.op](message(action.id));
      case "send":
        return agent.send(message(action.id), action.target, action.wakeup);
      case "append":
      case "prepend":
        return inbox[action.op](action.target, message(action.id));
      case "splice": {
        const { target, start, delete: count, insert } = action;
        return inbox.splice(target, start, count, insert.map(message)).map(({ id }) => id);
      }
      case "replace":
        return inbox.replace(action.id, message(action.with));
      case "remove":
        return inbox.remove(action.id);
      case "clear":
        return inbox.clear();
      case "cancel":
        return agent.cancel(action.cause, { keepInbox: action.keepInbox });
      case "maintenance":
        return this.#maintain();
      case "when-idle":
        return this.#waitForIdle();
      case "dispose":
        return this.#dispose();
      default:
        throw new TypeError(`no operation is named "${action.op}"`);
    }
  }

  #maintain() {
    const job = this.#handle.agent.runMaintenance(() => this.#stage.holdOrThrow("maintenance"));
    job.then(
      () => this.#stage.record({ maintenance: "done" }),
      (error) => this.#stage.record({ maintenance: "failed", message: error.message }),
    );
  }

  #dispose() {
    this.#handle.dispose().then(
      () => this.#stage.record({ disposed: true }),
      (error) => this.#stage.record({ disposed: false, message: error.message }),
    );
  }

  #waitForIdle() {
    this.#idleWaits += 1;
    const wait = this.#idleWaits;
    this.#handle.agent.whenIdle().then(() => this.#stage.record({ idle: wait }));
  }
}

/** The services by their limit of parallel calls; the scripted parts play on the stage set last. */
const opened = new Map();

/** The services that an agent needs, with the scripted model and tools. */
async function services(stage, maxParallel) {
  const parts = opened.get(maxParallel) ?? { stage };
  parts.stage = stage;
  parts.root ??= await startServices(parts, maxParallel);
  opened.set(maxParallel, parts);
  return parts.root;
}

async function startServices(parts, maxParallel) {
  const root = new Context();
  for (const service of [SessionStore, LlmRuntime, SystemPrompt, ToolRuntime, AgentRegistry]) {
    await root.plugin(service);
  }
  const limits = maxParallel === undefined ? {} : { maxParallelToolCalls: maxParallel };
  await root.plugin(AgentLoop, { agents: [], ...limits });
  root.llm.registerAdapter(["mock"], new ScriptedModel(parts));
  for (const tool of scriptedTools(parts)) root.tools.register(tool);
  return root;
}

const lists = ({ nextTurn, nextStep }) =>
  [nextTurn, nextStep].map((list) => list.map(({ id }) => id));

/** A durable event as it is compared: no time, no request data, normal identities. */
function observed(stage, { time: _time, ...event }) {
  switch (event.type) {
    case "request/header":
    case "request/context":
      return { ...event, data: {} };
    case "assistant/message":
      return { ...event, data: { ...event.data, message: normal(stage, event.data.message) } };
    case "tool/result": {
      const result = normal(stage, event.data.message);
      const content = result.content.map(withoutErrorWords);
      return { ...event, data: { ...event.data, message: { ...result, content } } };
    }
    default:
      return event;
  }
}

const normal = (stage, generated) => ({ ...generated, id: stage.normalId(generated.id) });
const withoutErrorWords = (block) => (block.isError ? { ...block, content: [] } : block);

function refusal({ message: words }) {
  const [, id] = /^message "(.*)" is already pending$/.exec(words) ?? [];
  if (id !== undefined) return { refused: "already-pending", id };
  if (words.startsWith("session append cannot reenter")) return { refused: "append-reentered" };
  if (words.endsWith("already has active work")) return { refused: "busy" };
  return { refused: "failed", message: words };
}
