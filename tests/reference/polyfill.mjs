// Node 20 lacks what the reference packages take for granted.
Promise.withResolvers ??= function () {
  const all = {};
  all.promise = new this((resolve, reject) => Object.assign(all, { resolve, reject }));
  return all;
};
