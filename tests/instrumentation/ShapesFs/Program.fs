// Shapes as the F# compiler makes them: tail calls, curried functions, unions, records, closures, computation
// expressions. NoInlining keeps the F# compiler from taking calls away. The program calls each on each of its paths; `--extension FILE` writes a point for every method.
module ShapesFs.Program

open System
open System.Collections.Generic
open System.IO
open System.Reflection
open System.Runtime.CompilerServices
open System.Runtime.InteropServices
open System.Threading.Tasks

type Shape =
    | Circle of float
    | Square of float

type Order = { Id: int; Name: string }

[<Struct>]
type Pair = { Left: int; Right: int }

type IArea =
    abstract Area: unit -> float

[<AbstractClass; Sealed>]
type Tails =
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Next(f: Func<int, int>, x: int) : int = f.Invoke(x)
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Chain(f: Func<int, int>, x: int) : int = if x > 3 then Tails.Next(f, x) else Tails.Chain(f, x + 1)
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Text(x: int, k: string -> string) : string = k (string x)

type Areas() =
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    member _.Area(shape: Shape) =
        match shape with
        | Circle r -> 3.0 * r * r
        | Square a -> a * a
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    member _.Fail(message: string) : int = failwith message
    interface IArea with
        member this.Area() = this.Area(Square 2.0)

type Returns =
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Unit() = ()
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Int() = 42
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Text() = "text"
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Struct() = { Left = 1; Right = 2 }
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Record() = { Id = 7; Name = "seven" }
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Guid() = Guid("11111111-2222-3333-4444-555555555555")
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Nullable(some: bool) = if some then Nullable 5 else Nullable()
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Option(some: bool) = if some then Some 5 else None
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Task() : Task<int> = Task.FromResult 3
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member ValueTask() = ValueTask<int>(4)
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Array() = [| 1; 2; 3 |]
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Matrix() = Array2D.init 2 2 (fun i j -> i + j)
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Tuple() = 1, "one"
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Struct2() = struct (1, "one")
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Curried (a: int) (b: string) = fun (c: float) -> $"{a}{b}{c}"
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member List() = [ 1; 2 ]

type Parameters() =
    member val Value = 3 with get, set
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    member this.Instance(x: int) = x + this.Value
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Over(_: int) = "int"
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Over(_: int64) = "int64"
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Over(_: string) = "string"
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Over(_: int, _: int) = "two"
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Ref(x: byref<int>, [<Out>] y: byref<string>) = x <- x + 1; y <- "out"
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member In(x: inref<int>) = x * 2
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member ParamArray([<ParamArray>] values: int[]) = Array.sum values
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Optional(a: string, ?b: int) = a + string (defaultArg b 2)
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Many(a: int, b: int, c: int, d: int, e: int, f: int, g: int, h: int, i: int, j: int, k: int, l: int,
                       m: int, n: int, o: string) = string (a + b + c + d + e + f + g + h + i + j + k + l + m + n) + o
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Span(text: ReadOnlySpan<char>) = text.Length
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member GiveSpan(items: int[]) : Span<int> = items.AsSpan(1)
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Native(p: nativeint, d: decimal) = $"{p}{d}"

type Generic<'T>(value: 'T) =
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    member _.Get() = value
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    member _.Both<'U>(other: 'U) = struct (value, other)
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Count(items: 'T list) = List.length items

type GenericMethods =
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Identity<'T>(value: 'T) = value
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Make<'T when 'T: (new: unit -> 'T)>() = new 'T()
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Compare<'T when 'T: comparison>(a: 'T, b: 'T) = compare a b

type Flow =
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member ThreeReturns(x: int) =
        if x = 1 then "one"
        elif x = 2 then "two"
        else "other"
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Match(shape: Shape, x: int) =
        match shape, x with
        | Circle _, 0 -> "circle zero"
        | Circle r, _ when r > 1.0 -> "large circle"
        | Square _, (1 | 2 | 3) -> "few squares"
        | _ -> "something"
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member TryWith(x: int) =
        try
            try
                if x = 0 then "fine" else string (10 / (x - 1))
            with :? DivideByZeroException -> "division"
        finally
            ignore (Returns.Unit())
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Nested(x: int) =
        try
            try
                try
                    if x = 1 then raise (FormatException "one")
                    if x = 2 then raise (TimeoutException "two")
                    0
                finally
                    ignore (Returns.Int())
            with :? FormatException -> 1
        with _ -> 2
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Reraise() =
        try
            failwith "inner"
        with _ ->
            reraise ()
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Loop(n: int) =
        let mutable a = 0
        for i in 1..n do
            a <- (a * 31 + i) % 1000003
            if a % 2 = 0 then a <- a + 7 else a <- a - 3
            while a > 900000 do
                a <- a - 123456
        a
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Recursive(n: int) : int = if n <= 1 then 1 else n * Flow.Recursive(n - 1)

type Sequences =
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Seq(n: int) = seq { for i in 1..n do yield i * i }
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Async(x: int) = async { return x * 2 }
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member Task(x: int) = task {
        do! Task.Yield()
        return x * 3
    }
    [<MethodImpl(MethodImplOptions.NoInlining)>]
    static member TaskThrow() : Task<int> = task {
        do! Task.Yield()
        return failwith "in a task"
    }

let rec even n = if n = 0 then true else odd (n - 1)
and odd n = if n = 0 then false else even (n - 1)

// Comes back to itself through function values only: each continuation ends with a tail call of the one before.
let rec descend n (k: int -> int) : int = if n = 0 then k 0 else descend (n - 1) (fun x -> k (x + 1))

// The same through the function itself: descend, a continuation, descend again.
let rec zigzag n (k: int -> int) : int = if n = 0 then k 0 else halve n (fun x -> zigzag (n - 1) (fun y -> k (x + y)))
and halve n k = k (n % 2)

type Walker() =
    // Instance members call themselves by `tail. callvirt`.
    abstract Walk: int -> int
    default this.Walk(n: int) : int = if n = 0 then 7 else this.Step(n - 1)
    member this.Step(n: int) : int = if n = 0 then 8 else this.Walk(n - 1)

type Pairs<'T> =
    // Members of a generic type are named through an instance of it.
    static member Left(n: int, x: 'T) : 'T = if n = 0 then x else Pairs<'T>.Right(n - 1, x)
    static member Right(n: int, x: 'T) : 'T = if n = 0 then x else Pairs<'T>.Left(n - 1, x)

[<Struct>]
type Size =
    | Small of s: int
    | Large of l: int64

let (|Even|Odd|) n = if n % 2 = 0 then Even else Odd

let sizes = [ Small 1; Large 2L; Small 3 ]

let total sizes =
    sizes |> List.sumBy (fun size -> match size with Small n -> int64 n | Large n -> n)

let steps n =
    seq {
        for i in 1 .. n do
            match i with
            | Even -> yield i * 10
            | Odd -> yield i
    }

let guarded f =
    try
        try
            Some(f ())
        finally
            printfn "finally"
    with
    | :? DivideByZeroException -> None
    | Failure text when text.Length > 3 -> Some text.Length

let later n =
    async {
        let! x = async { return n + 1 }
        if x > 5 then failwith "too late"
        return x * 2
    }

let frames (e: exn) =
    for line in e.StackTrace.Split('\n') do
        if line.Contains "ShapesFs" then
            let number = line.LastIndexOf ":line "
            let place = line.IndexOf " in "
            printfn "  %s%s" ((if place < 0 then line else line.Substring(0, place)).Trim())
                (if number < 0 then "" else line.Substring(number).TrimEnd())

let writeExtension (path: string) =
    use file = new StreamWriter(path)
    let all = BindingFlags.Public ||| BindingFlags.NonPublic ||| BindingFlags.Static ||| BindingFlags.Instance
              ||| BindingFlags.DeclaredOnly
    file.WriteLine "<extension><instrumentation>"
    for t in [ typeof<Tails>; typeof<Areas>; typeof<Returns>; typeof<Parameters>; typedefof<Generic<_>>
               typeof<GenericMethods>; typeof<Flow>; typeof<Sequences>; typeof<Shape> ] do
        let names = Seq.append (t.GetMethods all |> Seq.map (fun m -> m.Name)) (t.GetConstructors all |> Seq.map (fun m -> m.Name))
        file.WriteLine $"<tracerFactory><match assemblyName='ShapesFs' className='{t.FullName}'>"
        for name in names |> Seq.distinct |> Seq.filter (fun n -> n <> ".cctor") do
            file.WriteLine $"<exactMethodMatcher methodName='{Security.SecurityElement.Escape name}'/>"
        file.WriteLine "</match></tracerFactory>"
    file.WriteLine "</instrumentation></extension>"

let showReturns () =
    Returns.Unit()
    printfn "%d %s %A %A %O" (Returns.Int()) (Returns.Text()) (Returns.Struct()) (Returns.Record()) (Returns.Guid())
    printfn "%A %A %A %A" (Returns.Nullable true) (Returns.Nullable(false).HasValue) (Returns.Option true) (Returns.Option false)
    printfn "%d %d %A %A" (Returns.Task().Result) (Returns.ValueTask().Result) (Returns.Array()) (Returns.Matrix())
    printfn "%A %A %s %A" (Returns.Tuple()) (Returns.Struct2()) (Returns.Curried 1 "b" 2.5) (Returns.List())

let showParameters () =
    let p = Parameters()
    p.Value <- 4
    let mutable x = 1
    let mutable y = null
    Parameters.Ref(&x, &y)
    printfn "%d %d%s %d" (p.Instance 2) x y (Parameters.In &x)
    printfn "%s %s %s %s" (Parameters.Over 1) (Parameters.Over 1L) (Parameters.Over "s") (Parameters.Over(1, 2))
    printfn "%d %s %s" (Parameters.ParamArray(1, 2, 3)) (Parameters.Optional "a") (Parameters.Optional("a", 5))
    printfn "%s" (Parameters.Many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, "o"))
    printfn "%d %d" (Parameters.Span("text".AsSpan())) (Parameters.GiveSpan([| 1; 2; 3 |]).Length)
    printfn "%s" (Parameters.Native(5n, 1.5m))
    printfn "%d %s %A" (Generic(5).Get()) (Generic("v").Get()) (Generic(1).Both "u")
    printfn "%d %d %s" (Generic<int>.Count [ 1; 2 ]) (GenericMethods.Identity 5) (GenericMethods.Identity "five")
    printfn "%b %d" (isNull (GenericMethods.Make<List<int>>())) (GenericMethods.Compare("a", "b"))

let showFlow () =
    for i in 0..3 do
        printfn "%s %s %s %d" (Flow.ThreeReturns i) (Flow.Match(Circle(float i), i)) (Flow.TryWith i) (Flow.Nested i)
    printfn "%s %d %d" (Flow.Match(Square 1.0, 2)) (Flow.Loop 500) (Flow.Recursive 6)
    try
        Flow.Reraise()
    with e -> printfn "%s at %s" e.Message e.TargetSite.Name
    printfn "%A %d" (Sequences.Seq 3 |> Seq.toList) (Sequences.Async 4 |> Async.RunSynchronously)
    printfn "%d" (Sequences.Task(5).Result)
    try
        Sequences.TaskThrow().Wait()
    with e -> printfn "%s" e.InnerException.Message

let showMore () =
    printfn "total %d" (total sizes)
    printfn "steps %A" (List.ofSeq (steps 5))
    printfn "guarded %A %A %A" (guarded (fun () -> 1)) (guarded (fun () -> 1 / List.length [])) (guarded (fun () -> failwith "text"))
    try
        guarded (fun () -> failwith "no") |> ignore
    with e -> frames e
    printfn "later %d" (Async.RunSynchronously(later 1))
    try
        Async.RunSynchronously(later 7) |> ignore
    with e -> printfn "late %s" e.Message

[<EntryPoint>]
let main arguments =
    if arguments.Length = 2 && arguments[0] = "--extension" then
        writeExtension arguments[1]
        0
    else
        printfn "chain %d" (Tails.Chain(Func<int, int>(fun x -> x * 10), 0))
        printfn "text %s" (Tails.Text(5, (fun s -> s + "!")))
        printfn "even %b" (even 1000000)
        printfn "descend %d %d" (descend 300000 id) (zigzag 300000 id)
        printfn "walk %d %s" (Walker().Walk 1000000) (Pairs<string>.Left(1000001, "right"))
        let areas = Areas()
        printfn "circle %g" (areas.Area(Circle 2.0))
        printfn "square %g %g" (areas.Area(Square 3.0)) ((areas :> IArea).Area())
        try
            areas.Fail "no area" |> ignore
        with e ->
            printfn "caught %s" e.Message
            frames e
        showReturns ()
        showParameters ()
        showFlow ()
        showMore ()
        9
