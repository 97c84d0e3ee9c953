package main

// Every function is made with a length and a name, and every promise of a cell with two functions. The engine defines both
// as if the object might have them already, and a prototype might be in the way: these edits add them to the new object.
var functionEdits = []edit{
	{``,
		`    JS_DefinePropertyValue(ctx, func_obj, JS_ATOM_length, js_int32(len),
                           JS_PROP_CONFIGURABLE);
    JS_DefinePropertyValue(ctx, func_obj, JS_ATOM_name,
                           JS_AtomToString(ctx, name), JS_PROP_CONFIGURABLE);
}`,
		`    JSObject *p = JS_VALUE_GET_OBJ(func_obj);
    JSProperty *pr = add_property(ctx, p, JS_ATOM_length, JS_PROP_CONFIGURABLE);
    if (!pr)
        return;
    pr->u.value = js_int32(len);
    JSValue text = JS_AtomToString(ctx, name);
    pr = add_property(ctx, p, JS_ATOM_name, JS_PROP_CONFIGURABLE);
    if (pr)
        pr->u.value = text;
    else
        JS_FreeValue(ctx, text);
}`},
}
