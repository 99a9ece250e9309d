// Answers for the reference loop, one line of JSON for each on standard input (README.md).
//
// Not here: the world that a schedule plays in (world.mjs).

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { World } from "./world.mjs";

const PROTOCOL_VERSION = 1;
const ABILITIES = ["dispose", "maintenance", "max-parallel", "reactions", "seed"];

/** The world that is open between `open` and `close`. */
let current;

const requests = {
  hello({ version }) {
    if (version !== PROTOCOL_VERSION) {
      throw new Error(`version ${version} is asked for, and only ${PROTOCOL_VERSION} is spoken`);
    }
    return { version: PROTOCOL_VERSION, system: systemName(), abilities: ABILITIES };
  },

  async open(setting) {
    if (current) throw new Error("a world is open already");
    current = await World.open(setting);
    return {};
  },

  act: (action) => opened().act(action),

  end: () => opened().rest(),

  async close() {
    const world = opened();
    current = undefined;
    await world.close();
    return {};
  },

  /** A whole schedule: the same with its measured observations and end. */
  async measure(schedule) {
    await requests.open(schedule);
    try {
      const observations = [];
      for (const action of schedule.actions) observations.push(await requests.act(action));
      return { ...schedule, observations, end: requests.end() };
    } finally {
      await requests.close();
    }
  },
};

function opened() {
  if (!current) throw new Error("no world is open");
  return current;
}

function systemName() {
  const file = new URL("node_modules/@deepseek-ai/dsh-agent-loop/package.json", import.meta.url);
  const { name, version } = JSON.parse(readFileSync(file, "utf8"));
  return `${name} ${version}`;
}

async function answer(line) {
  try {
    const asked = JSON.parse(line);
    if (asked.actions) return await requests.measure(asked);
    const [kind, content] = Object.entries(asked)[0] ?? ["nothing"];
    if (!Object.hasOwn(requests, kind)) throw new Error(`no request is named "${kind}"`);
    return { [kind]: await requests[kind](content) };
  } catch (error) {
    return { error: error.message };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() !== "") process.stdout.write(`${JSON.stringify(await answer(line))}\n`);
}
